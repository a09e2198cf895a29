#include "bootstrap/registry.hpp"

#include <algorithm>

#include "bootstrap/link.hpp"
#include "bootstrap/root.hpp"

namespace rondo::bootstrap {

std::shared_ptr<Root> Registry::root(const Key& key) const {
    const auto found = roots_.find(key);
    return found == roots_.end() ? nullptr : found->second;
}

void Registry::remove_callee(const Key& key, const Callee* callee) {
    const auto found = callees_.find(key);
    if (found == callees_.end()) return;
    auto& all = found->second;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const std::weak_ptr<Callee>& weak) {
                                 const auto own = weak.lock();
                                 return !own || own.get() == callee;
                             }),
              all.end());
    if (all.empty()) callees_.erase(found);
}

void Registry::mark_used(const Key& key) {
    if (!used_.insert(key).second) return;
    used_order_.push_back(key);
    if (used_order_.size() <= kMostUsed) return;
    used_.erase(used_order_.front());
    used_order_.pop_front();
}

std::shared_ptr<Callee> Registry::find_callee(const Hello& hello) const {
    const auto found = callees_.find(hello.key);
    if (found == callees_.end()) return nullptr;
    for (const std::weak_ptr<Callee>& weak : found->second) {
        if (auto callee = weak.lock(); callee && callee->has_rank(hello.destination)) return callee;
    }
    return nullptr;
}

ServerHandshake::Answer Registry::look_up(const Hello& hello) const {
    if (hello.purpose != Purpose::Control) {
        const auto callee = find_callee(hello);
        return callee ? ServerHandshake::Answer{callee->secret(), {}}
                      : ServerHandshake::Answer{std::nullopt, Refusal::UnknownId};
    }
    if (const auto found = root(hello.key)) {
        return found->complete() ? ServerHandshake::Answer{std::nullopt, Refusal::UsedId}
                                 : ServerHandshake::Answer{found->secret(), {}};
    }
    return {std::nullopt, used(hello.key) ? Refusal::UsedId : Refusal::UnknownId};
}

void Registry::deliver(ProcessDescriptor socket, const Hello& hello, const std::string& peer) {
    if (hello.purpose != Purpose::Control) {
        if (const auto callee = find_callee(hello)) callee->take_connection(std::move(socket), hello);
        return;
    }
    // One that comes as the last rank joins is closed: its process hears at its next try that the id is used.
    if (const auto found = root(hello.key); found && !found->complete()) {
        found->attach(make_socket_link(loop_, std::move(socket), peer));
    }
}

void Registry::clear() {
    callees_.clear();
    roots_.clear();
}

}  // namespace rondo::bootstrap
