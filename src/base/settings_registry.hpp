#pragma once
// The registry: one declaration for each setting.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/settings.hpp"

namespace rondo {

struct SettingSpec {
    std::string_view name;
    std::string_view type;
    std::string allowed;
    std::string_view meaning;
    /// Takes over a value; throws Error(InvalidArgument) with the value and what is allowed.
    std::function<void(Settings&, std::string_view)> set;
    /// The value as a user would write it.
    std::function<std::string(const Settings&)> show;
};

std::span<const SettingSpec> setting_specs();

/// True for names with the prefix RONDO_ that are not settings of the library: RONDO_TESTS_* and what the test scripts
/// use.
bool reserved_name(std::string_view name) noexcept;

}  // namespace rondo
