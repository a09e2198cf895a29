#include "api/config.hpp"

#include <cstddef>
#include <cstring>

#include "base/error.hpp"

namespace rondo::api {

comm::Config config_of(const rondoConfig_t* given, const char* function) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    if (given != nullptr) {
        if (given->size < offsetof(rondoConfig_t, blocking) || given->size > sizeof(config)) {
            throw make_error(Code::InvalidArgument,
                             "{}: config.size is {}, this library knows up to {}; start from RONDO_CONFIG_INITIALIZER",
                             function, given->size, sizeof(config));
        }
        std::memcpy(&config, given, given->size);
    }
    return {.device = config.device == nullptr ? "host" : config.device,
            .blocking = config.blocking != 0,
            .timeout = config.timeout,
            .name = config.commName == nullptr ? "" : config.commName,
            .algo = config.algo == nullptr ? "" : config.algo,
            .slots = config.slots,
            .stall_warning = config.stallWarning};
}

bootstrap::UniqueId id_of(const rondoUniqueId& id) {
    bootstrap::UniqueId bytes{};
    static_assert(sizeof(id.internal) == sizeof(bytes));
    std::memcpy(bytes.data(), id.internal, bytes.size());
    return bytes;
}

}  // namespace rondo::api
