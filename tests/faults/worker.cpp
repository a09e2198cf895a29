// One rank of the fault tests: does what the lines on its standard input say, and answers each with a line of JSON that
// has the result, the library's text and the time on the machine's monotonic clock. tests/faults/faults.py drives it.
//
//   id                          makes a unique id
//   init ID NRANKS RANK LIMIT   joins; LIMIT: seconds that this and later calls may wait
//   join LIMIT                  joins as the environment says (RONDO_COMM_ID, ...)
//   loop SECONDS BYTES [EXIT]   all-reduces in place until rank 0's clock says stop, or an error;
//                               EXIT: leaves by _exit(0) after that many, without a word to anyone
//   check                       every collective, small and large, compared element by element
//   call NAME TYPE COUNT OP ROOT    one call
//   receive SOURCE              a tagged message of four bytes from that rank
//   mixed SEED COUNT            that many legal calls drawn at random, alike on all ranks
//   shrink R,R,...              a communicator without these ranks takes the place of the old one
//   shrink_to R,.. R,.. ...     the same without the ranks that are not in the list that has this one
//   destroy                     destroys the communicator
//   census                      what this process has open
//   quit | vanish               return from main | _exit(0), with whatever communicator there is
//   leave CALL...               one call as above, destroy and the end of the process, without a moment between them

#include <rondo/rondo.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "calls.hpp"

namespace rondo::test {
namespace {

using Json = nlohmann::json;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string hex_of(const rondoUniqueId& id) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const char byte : id.internal) {
        text += kDigits[static_cast<unsigned char>(byte) >> 4];
        text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

rondoUniqueId id_of(const std::string& hex) {
    rondoUniqueId id{};
    for (std::size_t i = 0; i < sizeof(id.internal); ++i) {
        id.internal[i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    }
    return id;
}

/// Targets of this process's open descriptors, names of its mappings of memory files, and its number of threads.
Json census() {
    Json descriptors = Json::array();
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
        if (!error && target.find("/proc/") != 0) descriptors.push_back(target);
    }
    int mappings = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) mappings += line.find("memfd:") != std::string::npos ? 1 : 0;
    const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    return {{"descriptors", descriptors}, {"mappings", mappings}, {"threads", threads}};
}

class Worker {
public:
    /// False: the program is to end.
    bool obey(const std::string& line) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        const double began = now();
        Json answer = {{"command", word}};
        if (word == "quit") return false;
        if (word == "vanish") _exit(0);
        if (word == "leave") return leave(words);
        try {
            obey_word(word, words, answer);
        } catch (const std::exception& error) {
            answer["result"] = -1;
            answer["text"] = error.what();
        }
        answer["t"] = now();
        answer["seconds"] = now() - began;
        std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
        return true;
    }

private:
    void obey_word(const std::string& word, std::istringstream& words, Json& answer) {
        if (word == "id") make_id(answer);
        if (word == "init") init(words, answer);
        if (word == "join") join(words, answer);
        if (word == "loop") loop(words, answer);
        if (word == "check") check(answer);
        if (word == "call") call(words, answer);
        if (word == "receive") receive(words, answer);
        if (word == "mixed") mixed(words, answer);
        if (word == "shrink") shrink(read_list(words), answer);
        if (word == "shrink_to") shrink_to(words, answer);
        if (word == "destroy") destroy(answer);
        if (word == "census") answer.update(census());
    }

    bool judge(rondoResult_t result, Json& answer) const {
        answer["result"] = static_cast<int>(result);
        if (result == rondoSuccess) return true;
        const char* text = comm_ == nullptr ? "" : rondoGetLastError(comm_);
        if (text == nullptr || *text == '\0') text = rondoGetLastError(nullptr);
        answer["text"] = text;
        answer["meaning"] = rondoGetErrorString(result);
        return false;
    }

    void make_id(Json& answer) {
        rondoUniqueId id{};
        if (judge(rondoGetUniqueId(&id), answer)) answer["id"] = hex_of(id);
    }

    void init(std::istringstream& words, Json& answer) {
        std::string id;
        double limit = 0;
        words >> id >> nranks_ >> rank_ >> limit;
        init_with(id_of(id), limit, answer);
    }

    void join(std::istringstream& words, Json& answer) {
        double limit = 0;
        words >> limit;
        rondoUniqueId id{};
        if (judge(rondoGetUniqueIdFromEnvironment(&id, &nranks_, &rank_), answer)) init_with(id, limit, answer);
        answer["rank"] = rank_;
    }

    void init_with(const rondoUniqueId& id, double limit, Json& answer) {
        rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
        config.timeout = limit;
        next_call_ = 0;
        if (judge(rondoCommInitRankConfig(&comm_, nranks_, id, rank_, &config), answer)) return;
        // What there is of a communicator after a failed init goes; its text has been read.
        if (comm_ != nullptr) rondoCommDestroy(comm_);
        comm_ = nullptr;
    }

    void loop(std::istringstream& words, Json& answer) {
        double seconds = 0;
        std::size_t bytes = 0;
        long leave_after = -1;
        words >> seconds >> bytes >> leave_after;
        std::vector<std::uint32_t> data(bytes / 4);
        const double end = now() + seconds;
        for (std::uint32_t round = 0;; ++round) {
            if (round == 1) say("looping");
            if (leave_after >= 0 && round == static_cast<std::uint32_t>(leave_after)) _exit(0);
            fill(data, rank_, round);
            data[0] = rank_ == 0 && now() >= end ? 1 : 0;
            const double began = now();
            const bool ok = judge(
                rondoAllReduce(data.data(), data.data(), data.size(), rondoUint32, rondoSum, comm_, nullptr), answer);
            answer["rounds"] = round;
            answer["waited"] = now() - began;
            if (!ok) return;
            const std::size_t wrong = wrong_sum(data, nranks_, round, 1, 1021);
            if (wrong != data.size()) return complain(answer, "all-reduce of round " + std::to_string(round), wrong);
            if (data[0] > 0) return;
        }
    }

    void check(Json& answer) {
        answer["result"] = 0;
        for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
            for (const Function function : kFunctions) {
                const Call one{function,
                               rondoUint32,
                               count,
                               rondoSum,
                               static_cast<int>(count % static_cast<std::size_t>(nranks_)),
                               next_call_++};
                if (!run_checked(one, answer)) return;
            }
        }
    }

    void mixed(std::istringstream& words, Json& answer) {
        std::uint64_t seed = 0;
        long count = 0;
        words >> seed >> count;
        std::mt19937_64 random(seed);
        answer["result"] = 0;
        for (long i = 0; i < count; ++i) {
            if (!run_checked(draw_call(random, nranks_, next_call_++), answer)) {
                answer["after"] = i;
                return;
            }
        }
    }

    /// One call with its result compared. False, with the answer filled in, when it failed or was wrong.
    bool run_checked(const Call& one, Json& answer) {
        prepare(one, rank_, nranks_, buffers_);
        if (!judge(make(one, buffers_, comm_), answer)) {
            answer["text"] = text_of(one) + ": " + answer["text"].get<std::string>();
            return false;
        }
        const std::size_t wrong = first_wrong(one, rank_, nranks_, buffers_);
        if (wrong == kNone) return true;
        complain(answer, text_of(one), wrong);
        return false;
    }

    void call(std::istringstream& words, Json& answer) {
        const Call one = parse_call(words, next_call_++);
        prepare(one, rank_, nranks_, buffers_);
        judge(make(one, buffers_, comm_), answer);
    }

    void receive(std::istringstream& words, Json& answer) {
        int source = -1;
        words >> source;
        std::uint32_t value = 0;
        judge(rondoRecvTagged(&value, 1, rondoUint32, source, 0, comm_, nullptr, nullptr), answer);
    }

    static std::vector<int> read_list(std::istringstream& words) {
        std::string list;
        words >> list;
        std::vector<int> values;
        std::istringstream numbers(list);
        for (std::string number; std::getline(numbers, number, ',');) values.push_back(std::stoi(number));
        return values;
    }

    /// Says something only where something is wrong; false as the program is to end.
    bool leave(std::istringstream& words) {
        Json answer = {{"command", "leave"}};
        const Call one = parse_call(words, next_call_);
        if (!run_checked(one, answer)) std::cout << answer.dump() << std::endl;
        rondoCommDestroy(comm_);
        return false;
    }

    void shrink_to(std::istringstream& words, Json& answer) {
        std::vector<int> excluded;
        for (std::vector<int> list = read_list(words); !list.empty(); list = read_list(words)) {
            if (std::find(list.begin(), list.end(), rank_) != list.end()) continue;
            excluded.insert(excluded.end(), list.begin(), list.end());
        }
        shrink(excluded, answer);
    }

    void shrink(const std::vector<int>& excluded, Json& answer) {
        rondoComm_t smaller = nullptr;
        if (!judge(shrink_comm(comm_, excluded, &smaller), answer)) return;
        rondoCommDestroy(comm_);
        comm_ = smaller;
        rondoCommCount(comm_, &nranks_);
        rondoCommUserRank(comm_, &rank_);
        answer["rank"] = rank_;
        answer["nranks"] = nranks_;
        next_call_ = 0;
    }

    void destroy(Json& answer) {
        answer["result"] = 0;
        if (comm_ == nullptr) return;
        rondoComm_t comm = comm_;
        comm_ = nullptr;
        judge(rondoCommDestroy(comm), answer);
    }

    static void complain(Json& answer, const std::string& what, std::size_t element) {
        answer["wrong"] = what + ": element " + std::to_string(element);
    }

    static void say(const char* what) { std::cout << Json{{"event", what}, {"t", now()}}.dump() << std::endl; }

    rondoComm_t comm_ = nullptr;
    int rank_ = 0;
    int nranks_ = 1;
    std::uint32_t next_call_ = 0;
    Buffers buffers_;
};

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
    rondo::test::Worker worker;
    for (int i = 1; i < argc; ++i) {
        if (!worker.obey(argv[i])) return 0;
    }
    if (argc > 1) return 0;
    for (std::string line; std::getline(std::cin, line);) {
        if (!worker.obey(line)) return 0;
    }
    return 0;
}
