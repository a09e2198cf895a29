#include "comm/options.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"

namespace rondo::comm {

namespace {

constexpr std::uint64_t kSlotAlign = 128;

plan::Protocol protocol_of(ProtocolChoice choice) {
    switch (choice) {
        case ProtocolChoice::Auto: return plan::Protocol::Auto;
        case ProtocolChoice::Simple: return plan::Protocol::Simple;
        case ProtocolChoice::LL: return plan::Protocol::LL;
        case ProtocolChoice::LL128:
            throw make_error(Code::InvalidUsage,
                             "RONDO_PROTO=ll128 is a protocol of GPU links; on host memory use auto, simple or ll");
    }
    return plan::Protocol::Auto;
}

}  // namespace

std::string Options::facts() const {
    return fmt::format(
        "RONDO_NSLOTS={}\nslot bytes={}\nRONDO_PROTO={}\nRONDO_ALGO={}\nRONDO_NCHANNELS={}\nRONDO_PLAN_FILE={}\n"
        "RONDO_TRANSPORT={}\nRONDO_NSOCKS={}\n",
        slots, slot_bytes, static_cast<int>(protocol), filter.rules.text(), channels, plan_file, transports.text(),
        flows);
}

Options resolve(const Config& config, const Settings& settings) {
    if (config.device != "host") {
        throw make_error(Code::InvalidArgument, "config.device is \"{}\"; this build has: host", config.device);
    }
    if (config.slots < 0 || config.slots > 64) {
        throw make_error(Code::InvalidArgument, "config.slots is {}; allowed: 1 to 64, or 0 for RONDO_NSLOTS",
                         config.slots);
    }
    Options options{.name = config.name,
                    .blocking = config.blocking,
                    .timeout = config.timeout > 0 ? config.timeout : settings.timeout,
                    .stall_warning = config.stall_warning >= 0 ? config.stall_warning : settings.stall_warning,
                    .slots = static_cast<std::uint32_t>(config.slots > 0 ? config.slots : settings.nslots),
                    .spin_us = static_cast<double>(settings.spin_us),
                    .protocol = protocol_of(settings.proto),
                    .verification = settings.verify_plans,
                    .filter = {.rules = settings.algo},
                    .channels = settings.nchannels,
                    .plan_file = settings.plan_file,
                    .transports = settings.transport,
                    .flows = std::max(settings.nsocks, 1),
                    .settings = settings};
    if (!config.algo.empty()) {
        try {
            options.filter = {.rules = AlgorithmRules::parse(config.algo), .source = "config.algo"};
        } catch (const Error& error) {
            throw error.with_context("config.algo");
        }
    }
    options.slot_bytes = settings.buffsize / options.slots / kSlotAlign * kSlotAlign;
    if (options.slot_bytes < kSlotAlign) {
        throw make_error(Code::InvalidArgument,
                         "RONDO_BUFFSIZE={} gives each of {} slots less than {} bytes; raise it or lower RONDO_NSLOTS",
                         settings.buffsize, options.slots, kSlotAlign);
    }
    return options;
}

}  // namespace rondo::comm
