#pragma once
// The communicators that connections to this process may be meant for. On the service thread alone.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/process_descriptor.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/unique_id.hpp"

namespace rondo::bootstrap {

class Loop;
class Root;

/// Someone in this process whom peers call for Data and Memory.
class Callee {
public:
    Callee() = default;
    Callee(const Callee&) = delete;
    Callee& operator=(const Callee&) = delete;
    virtual ~Callee() = default;

    [[nodiscard]] virtual const Secret& secret() const = 0;
    [[nodiscard]] virtual bool has_rank(Rank rank) const = 0;
    virtual void take_connection(ProcessDescriptor socket, const Hello& hello) = 0;
};

class Registry {
public:
    explicit Registry(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

    void add_root(const Key& key, std::shared_ptr<Root> root) { roots_[key] = std::move(root); }
    void remove_root(const Key& key) { roots_.erase(key); }
    [[nodiscard]] std::shared_ptr<Root> root(const Key& key) const;

    void add_callee(const Key& key, std::weak_ptr<Callee> callee) { callees_[key].push_back(std::move(callee)); }
    void remove_callee(const Key& key, const Callee* callee);

    /// The communicator of this key has come to be, or has failed. The last kMostUsed keys are remembered.
    void mark_used(const Key& key);
    [[nodiscard]] bool used(const Key& key) const { return used_.contains(key); }

    /// For the handshake.
    [[nodiscard]] ServerHandshake::Answer look_up(const Hello& hello) const;
    /// Hands over a connection that has proved what its hello says; closes it where nobody wants it any more.
    void deliver(ProcessDescriptor socket, const Hello& hello, const std::string& peer);

    void clear();

private:
    static constexpr std::size_t kMostUsed = 1U << 16U;

    [[nodiscard]] std::shared_ptr<Callee> find_callee(const Hello& hello) const;

    const std::shared_ptr<Loop> loop_;
    std::map<Key, std::shared_ptr<Root>> roots_;
    std::map<Key, std::vector<std::weak_ptr<Callee>>> callees_;
    std::set<Key> used_;
    std::deque<Key> used_order_;
};

}  // namespace rondo::bootstrap
