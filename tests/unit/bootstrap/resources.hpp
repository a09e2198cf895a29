#pragma once
// Descriptors and threads of this process, for tests that nothing is left.

#include <chrono>
#include <filesystem>
#include <ostream>
#include <thread>

namespace rondo::bootstrap {

struct Resources {
    std::ptrdiff_t descriptors = count("/proc/self/fd");
    std::ptrdiff_t threads = count_threads();

    bool operator==(const Resources&) const = default;

    /// Whether no more are there than now. Threads that have been joined leave /proc a little later.
    [[nodiscard]] bool back_within(double seconds) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (true) {
            const Resources now;
            if (now.descriptors <= descriptors && now.threads <= threads) return true;
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }

private:
    /// The thread sanitizer runs a thread of its own from the first one on that the program starts: it is not ours.
    static std::ptrdiff_t count_threads() {
        static const bool started = [] {
            std::thread([] {}).join();
            std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until it has left /proc
            return true;
        }();
        static_cast<void>(started);
        return count("/proc/self/task");
    }

    static std::ptrdiff_t count(const char* folder) {
        return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    }
};

inline std::ostream& operator<<(std::ostream& out, const Resources& resources) {
    return out << resources.descriptors << " descriptors, " << resources.threads << " threads";
}

}  // namespace rondo::bootstrap
