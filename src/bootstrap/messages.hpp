#pragma once
// What processes and the root say to each other. Each encode() has its decode(), which throws Error(RemoteError) for
// bytes that no encode() made.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cause.hpp"
#include "bootstrap/session.hpp"

namespace rondo::bootstrap {

enum class FrameType : std::uint8_t {
    // To the root.
    Introduce = 1,
    Join = 2,
    Ready = 3,    ///< a report
    Fail = 4,     ///< a cause
    Depart = 5,   ///< a rank
    Goodbye = 6,  ///< nothing
    Record = 7,
    Query = 8,    ///< a number
    Status = 9,   ///< a number and a text
    Ask = 10,     ///< an Errand for a process
    Refuse = 11,  ///< an Errand that failed, back to the process that asked
    // From the root.
    Missing = 32,  ///< MissingRanks
    Roster = 33,
    Go = 34,        ///< reports
    Failure = 35,   ///< a cause
    Departed = 36,  ///< ranks
    StatusRequest = 37,
    StatusReply = 38,
    Asked = 39,    ///< an Errand from a process
    Refused = 40,  ///< an Errand that failed there
};

inline constexpr std::size_t kMostMemberFrame = 1U << 20U;  ///< from a process of the communicator
inline constexpr std::size_t kMostEarlyFrame = 64U << 10U;  ///< the same before the roster
inline constexpr std::size_t kMostRootFrame = 64U << 20U;   ///< from the root

/// Who a process is.
struct Introduction {
    std::string build;  ///< library version and commit, equal on all
    double timeout = 0;
    Process process;
    Site site;

    bool operator==(const Introduction&) const = default;
};

struct JoinMessage {
    Rank nranks = 0;
    Card card;
};

/// While ranks are missing.
struct MissingRanks {
    Rank joined = 0;
    std::string ranks;  ///< as rank_list() writes it

    bool operator==(const MissingRanks&) const = default;
};

struct StatusMessage {
    std::uint64_t number = 0;
    std::string text;
};

struct StatusReplyMessage {
    std::uint64_t number = 0;
    std::vector<std::string> texts;
};

/// A process that cannot reach another asks it, by the root, to call back.
struct Errand {
    std::int32_t process =
        -1;            ///< to the root: who is asked; from the root: who asks. Of a refusal the other way round
    Rank source = -1;  ///< of the connection, as the one that asks sees it
    Rank destination = -1;
    std::uint16_t flow = 0;
    std::uint32_t milliseconds = 0;  ///< to try for
    std::string text;                ///< of a refusal

    bool operator==(const Errand&) const = default;
};

std::string encode(const Introduction& introduction);
std::string encode(const JoinMessage& join);
std::string encode(const Cause& cause);
std::string encode(const Record& record);
std::string encode(const MissingRanks& missing);
std::string encode(const Roster& roster);  ///< without `self`
std::string encode(const StatusMessage& status);
std::string encode(const StatusReplyMessage& reply);
std::string encode(const Errand& errand);
std::string encode(const std::vector<std::string>& reports);
std::string encode(Rank rank);
std::string encode(const std::vector<Rank>& ranks);
std::string encode(std::uint64_t number);

Introduction decode_introduction(std::string_view bytes);
JoinMessage decode_join(std::string_view bytes);
Cause decode_cause(std::string_view bytes);
Record decode_record(std::string_view bytes);
MissingRanks decode_missing(std::string_view bytes);
Roster decode_roster(std::string_view bytes);
StatusMessage decode_status(std::string_view bytes);
StatusReplyMessage decode_status_reply(std::string_view bytes);
Errand decode_errand(std::string_view bytes);
std::vector<std::string> decode_reports(std::string_view bytes);
Rank decode_rank(std::string_view bytes);
std::vector<Rank> decode_ranks(std::string_view bytes);
std::uint64_t decode_number(std::string_view bytes);

/// The cause with its texts cut to what a frame carries.
Cause fit(Cause cause);

}  // namespace rondo::bootstrap
