#pragma once
// What a communicator was told: configuration and settings, resolved once at init.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/algorithm_rules.hpp"
#include "base/settings.hpp"
#include "plan/plan.hpp"

namespace rondo::comm {

inline constexpr std::size_t kCollectives = 9;

/// Which algorithms each collective may use, and who said so.
struct AlgorithmFilter {
    AlgorithmRules rules;
    std::string source = "RONDO_ALGO";  ///< or "config.algo"

    [[nodiscard]] bool allows(plan::Collective collective, plan::Algorithm algorithm) const noexcept {
        return rules.allows(plan::name_of(collective), plan::name_of(algorithm));
    }
};

/// VerifyPlans::Auto proves plans of up to this many ranks: a few milliseconds each.
inline constexpr Rank kAutoVerifyRanks = 8;

struct Options {
    std::string name;  ///< of the communicator, for texts
    bool blocking = true;
    double timeout = 600;       ///< seconds
    double stall_warning = 30;  ///< seconds
    std::uint32_t slots = 4;
    std::size_t slot_bytes = 0;
    double spin_us = -1;  ///< < 0: adapt to the cores
    plan::Protocol protocol = plan::Protocol::Auto;
    VerifyPlans verification = VerifyPlans::Auto;
    AlgorithmFilter filter;
    std::int32_t channels = 0;  ///< of every plan; 0: as many as suit the shape
    std::string plan_file;      ///< "": none
    Transports transports;
    std::int32_t flows = 1;  ///< connections between two ranks
    Settings settings;       ///< as they were at init

    /// What must be equal on all ranks, one "name=value" a line.
    [[nodiscard]] std::string facts() const;
};

/// What a program may set for one communicator; unset fields follow the settings.
struct Config {
    std::string device = "host";
    bool blocking = true;
    double timeout = 0;
    std::string name;
    std::string algo;
    int slots = 0;
    double stall_warning = -1;  ///< < 0: unset
};

/// Resolves configuration over settings. Errors: InvalidArgument naming the field, the value and what is allowed.
Options resolve(const Config& config, const Settings& settings);

}  // namespace rondo::comm
