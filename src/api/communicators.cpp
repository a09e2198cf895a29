// Life and state of communicators.

#include <algorithm>
#include <cstring>
#include <vector>

#include "api/config.hpp"
#include "api/guard.hpp"
#include "base/runtime.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/service.hpp"
#include "comm/group.hpp"

namespace {

using namespace rondo;

void check_ranks(const char* function, int nranks, int rank) {
    // Ranks beyond this would not fit into the identity of a FIFO.
    constexpr int kMostRanks = 1 << 20;
    if (nranks < 1 || nranks > kMostRanks) {
        throw make_error(Code::InvalidArgument, "{}: nranks is {}; allowed: 1 to {}", function, nranks, kMostRanks);
    }
    if (rank < 0 || rank >= nranks) {
        throw make_error(Code::InvalidArgument, "{}: rank {} is outside [0, {})", function, rank, nranks);
    }
}

rondoResult_t init(const char* function, rondoComm_t* comm, int nranks, const rondoUniqueId& id, int rank,
                   const rondoConfig_t* config) {
    return api::guarded([&] {
        rondoComm_t& handle = api::need(comm, function, "comm");
        handle = nullptr;
        check_ranks(function, nranks, rank);
        const comm::Options options = comm::resolve(api::config_of(config, function), Runtime::get().load_settings());
        auto made = std::make_unique<rondoComm>(api::id_of(id), nranks, rank, options);
        if (comm::Group::current().open()) {
            comm::Group::current().add_init(made->comm);
        } else if (options.blocking) {
            made->comm.wait_until_joined();
        }
        handle = made.release();
        return options.blocking ? Code::Success : Code::InProgress;
    });
}

}  // namespace

extern "C" {

rondoResult_t rondoGetUniqueId(rondoUniqueId* id) {
    return api::guarded([&] {
        rondoUniqueId& target = api::need(id, "rondoGetUniqueId", "id");
        const bootstrap::UniqueId made =
            bootstrap::make_unique_id(Runtime::get().service<bootstrap::Service>(), Runtime::get().load_settings());
        std::memcpy(target.internal, made.data(), made.size());
    });
}

rondoResult_t rondoGetUniqueIdFromEnvironment(rondoUniqueId* id, int* nprocs, int* proc) {
    return api::guarded([&] {
        rondoUniqueId& target = api::need(id, "rondoGetUniqueIdFromEnvironment", "id");
        int& count = api::need(nprocs, "rondoGetUniqueIdFromEnvironment", "nprocs");
        int& own = api::need(proc, "rondoGetUniqueIdFromEnvironment", "proc");
        const std::uint64_t number = Runtime::get().service<bootstrap::Service>().next_environment_number();
        const bootstrap::EnvironmentId made =
            bootstrap::id_from_environment(Runtime::get().load_settings(), bootstrap::process_environment(), number);
        std::memcpy(target.internal, made.id.data(), made.id.size());
        count = made.nranks;
        own = made.rank;
    });
}

rondoResult_t rondoCommInitRank(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank) {
    return init("rondoCommInitRank", comm, nranks, id, rank, nullptr);
}

rondoResult_t rondoCommInitRankConfig(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank,
                                      const rondoConfig_t* config) {
    return init("rondoCommInitRankConfig", comm, nranks, id, rank, config);
}

rondoResult_t rondoCommInitAll(rondoComm_t* comms, int nranks, const rondoConfig_t* config) {
    return api::guarded([&] {
        api::need(comms, "rondoCommInitAll", "comms");
        check_ranks("rondoCommInitAll", nranks, 0);
        const comm::Options options =
            comm::resolve(api::config_of(config, "rondoCommInitAll"), Runtime::get().load_settings());
        const bootstrap::UniqueId id = bootstrap::make_local_id();
        std::vector<std::unique_ptr<rondoComm>> made;
        for (int rank = 0; rank < nranks; ++rank)
            made.push_back(std::make_unique<rondoComm>(id, nranks, rank, options));
        for (const auto& handle : made) handle->comm.wait_until_joined();
        for (int rank = 0; rank < nranks; ++rank) comms[rank] = made[static_cast<std::size_t>(rank)].release();
    });
}

rondoResult_t rondoCommFinalize(rondoComm_t comm) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommFinalize");
        const comm::Communicator::Presence present(open);
        open.finalize();
        if (open.result() != Code::Success) throw Error(open.result(), open.error_text());
    });
}

rondoResult_t rondoCommDestroy(rondoComm_t comm) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommDestroy");
        if (comm::Group::current().holds(open)) {
            throw make_error(Code::InvalidUsage, "rondoCommDestroy: rank {} has calls in the open group; end it first",
                             open.rank());
        }
        {
            const comm::Communicator::Presence present(open);
            open.finalize();
        }
        delete comm;
    });
}

rondoResult_t rondoCommAbort(rondoComm_t comm) {
    return api::guarded([&] { api::open_handle(comm, "rondoCommAbort").abort(); });
}

rondoResult_t rondoCommGetAsyncError(rondoComm_t comm, rondoResult_t* result) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommGetAsyncError");
        api::need(result, "rondoCommGetAsyncError", "result") = api::result_of(open.state());
    });
}

rondoResult_t rondoCommCount(rondoComm_t comm, int* count) {
    return api::guarded(
        [&] { api::need(count, "rondoCommCount", "count") = api::open_handle(comm, "rondoCommCount").nranks(); });
}

rondoResult_t rondoCommUserRank(rondoComm_t comm, int* rank) {
    return api::guarded(
        [&] { api::need(rank, "rondoCommUserRank", "rank") = api::open_handle(comm, "rondoCommUserRank").rank(); });
}

rondoResult_t rondoCommGetLastPlan(rondoComm_t comm, char* text, size_t bytes) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommGetLastPlan");
        char& first = api::need(text, "rondoCommGetLastPlan", "text");
        if (bytes == 0) throw Error(Code::InvalidArgument, "rondoCommGetLastPlan: bytes is 0");
        const comm::Communicator::Presence present(open);
        open.drain();
        const std::string& id = open.last_plan();
        const std::size_t length = std::min(id.size(), bytes - 1);
        std::memcpy(&first, id.data(), length);
        text[length] = '\0';
    });
}

rondoResult_t rondoCommGetTraffic(rondoComm_t comm, uint64_t* sent_bytes, uint64_t* sent_messages,
                                  uint64_t* direct_bytes) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommGetTraffic");
        const comm::Communicator::Presence present(open);
        open.drain();
        const host::Traffic& traffic = open.traffic();
        if (sent_bytes != nullptr) std::ranges::copy(traffic.sent_bytes, sent_bytes);
        if (sent_messages != nullptr) std::ranges::copy(traffic.sent_messages, sent_messages);
        if (direct_bytes != nullptr) std::ranges::copy(traffic.direct_bytes, direct_bytes);
    });
}

rondoResult_t rondoCommGetPlannedTraffic(rondoComm_t comm, uint64_t* sent_bytes, uint64_t* sent_messages,
                                         uint64_t* direct_bytes) {
    return api::guarded([&] {
        comm::Communicator& open = api::open_handle(comm, "rondoCommGetPlannedTraffic");
        const comm::Communicator::Presence present(open);
        open.drain();
        const plan::PlannedTraffic traffic = open.planned_traffic();
        if (sent_bytes != nullptr) std::ranges::copy(traffic.sent_bytes, sent_bytes);
        if (sent_messages != nullptr) std::ranges::copy(traffic.sent_messages, sent_messages);
        if (direct_bytes != nullptr) std::ranges::copy(traffic.direct_bytes, direct_bytes);
    });
}

}  // extern "C"
