// Communicators out of communicators, and what a failed one knows.

#include <cstring>
#include <vector>

#include "api/config.hpp"
#include "api/guard.hpp"
#include "base/runtime.hpp"
#include "comm/derive.hpp"
#include "comm/group.hpp"

namespace {

using namespace rondo;

/// As the parent's, where the caller gives none.
comm::Options options_for(const comm::Communicator& parent, const rondoConfig_t* config, const char* function,
                          const char* suffix) {
    if (config != nullptr) return comm::resolve(api::config_of(config, function), Runtime::get().load_settings());
    comm::Options options = parent.options();
    if (!options.name.empty()) options.name += suffix;
    options.timeout = parent.patience().timeout;
    options.stall_warning = parent.patience().stall_warning;
    return options;
}

Code make(const comm::Place& place, const comm::Options& options, rondoComm_t& handle) {
    auto made = std::make_unique<rondoComm>(place.id, place.nranks, place.rank, options);
    if (options.blocking) made->comm.wait_until_joined();
    handle = made.release();
    return options.blocking ? Code::Success : Code::InProgress;
}

void refuse_in_group(const char* function) {
    if (comm::Group::current().open()) {
        throw make_error(Code::InvalidUsage, "{} cannot be part of a group; end the group first", function);
    }
}

}  // namespace

extern "C" {

rondoResult_t rondoCommSplit(rondoComm_t comm, int color, int key, rondoComm_t* newcomm, const rondoConfig_t* config) {
    return api::guarded([&]() -> Code {
        comm::Communicator& parent = api::open_handle(comm, "rondoCommSplit");
        rondoComm_t& handle = api::need(newcomm, "rondoCommSplit", "newcomm");
        handle = nullptr;
        refuse_in_group("rondoCommSplit");
        const comm::Options options = options_for(parent, config, "rondoCommSplit", "/split");
        std::optional<comm::Place> place;
        {
            const comm::Communicator::Presence present(parent);
            parent.drain();
            place = comm::split(parent, color, key);
        }
        return place ? make(*place, options, handle) : Code::Success;
    });
}

rondoResult_t rondoCommShrink(rondoComm_t comm, const int* exclude, int count, rondoComm_t* newcomm,
                              const rondoConfig_t* config) {
    return api::guarded([&]() -> Code {
        comm::Communicator& parent = api::open_handle(comm, "rondoCommShrink");
        rondoComm_t& handle = api::need(newcomm, "rondoCommShrink", "newcomm");
        handle = nullptr;
        if (count < 0) throw make_error(Code::InvalidArgument, "rondoCommShrink: count is {}", count);
        if (count > 0) api::need(exclude, "rondoCommShrink", "exclude");
        refuse_in_group("rondoCommShrink");
        const comm::Options options = options_for(parent, config, "rondoCommShrink", "/shrink");
        comm::Place place;
        {
            const comm::Communicator::Presence present(parent);
            parent.drain();
            place = comm::shrink(parent, std::vector<Rank>(exclude, exclude + count));
        }
        return make(place, options, handle);
    });
}

rondoResult_t rondoCommSetTimeout(rondoComm_t comm, double timeout, double stallWarning) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommSetTimeout");
        if (!(timeout > 0)) {
            throw make_error(Code::InvalidArgument, "rondoCommSetTimeout: timeout is {}; allowed: more than 0 seconds",
                             timeout);
        }
        if (!(stallWarning >= 0)) {
            throw make_error(Code::InvalidArgument, "rondoCommSetTimeout: stallWarning is {}; allowed: 0 and more",
                             stallWarning);
        }
        const comm::Communicator::Presence present(open);
        open.drain();
        open.set_patience({timeout, stallWarning});
    });
}

rondoResult_t rondoCommGetErrorInfo(rondoComm_t comm, rondoErrorInfo_t* info) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommGetErrorInfo");
        rondoErrorInfo_t& target = api::need(info, "rondoCommGetErrorInfo", "info");
        if (target.size < sizeof(target.size) || target.size > sizeof(target)) {
            throw make_error(Code::InvalidArgument,
                             "rondoCommGetErrorInfo: info->size is {}, this library knows up to {}", target.size,
                             sizeof(target));
        }
        rondoErrorInfo_t made{target.size, rondoSuccess, -1, -1, 0, "", "", "", "", "", ""};
        if (const Cause* cause = open.first_cause()) {
            made = {target.size,           api::result_of(comm::code_seen_by(open.rank(), *cause)),
                    cause->rank,           cause->peer,
                    cause->sequence,       cause->operation.c_str(),
                    cause->object.c_str(), cause->limit.c_str(),
                    cause->number.c_str(), cause->text.c_str(),
                    cause->remedy.c_str()};
        }
        std::memcpy(&target, &made, target.size);
    });
}

}  // extern "C"
