// Names of the enumerations of a plan.

#include "plan/format.hpp"

namespace rondo::plan {

std::string_view name_of(Protocol protocol) noexcept {
    switch (protocol) {
        case Protocol::Auto: return "auto";
        case Protocol::Simple: return "simple";
        case Protocol::LL: return "ll";
        case Protocol::LL128: return "ll128";
    }
    return "?";
}

std::string_view name_of(Place place) noexcept {
    switch (place) {
        case Place::Local: return "local";
        case Place::Inbox: return "inbox";
        case Place::Outbox: return "outbox";
        case Place::Peer: return "peer";
        case Place::Multicast: return "multicast";
        case Place::Counter: return "counter";
    }
    return "?";
}

std::string_view name_of(Buffer buffer) noexcept {
    switch (buffer) {
        case Buffer::Input: return "input";
        case Buffer::Output: return "output";
        case Buffer::Scratch: return "scratch";
    }
    return "?";
}

std::string_view name_of(Element element) noexcept {
    switch (element) {
        case Element::Data: return "data";
        case Element::Accumulator: return "accumulator";
    }
    return "?";
}

std::string_view name_of(Kind kind) noexcept {
    switch (kind) {
        case Kind::Move: return "move";
        case Kind::Post: return "post";
        case Kind::Wait: return "wait";
    }
    return "?";
}

std::string_view name_of(When when) noexcept {
    switch (when) {
        case When::Before: return "before";
        case When::EachTile: return "each_tile";
        case When::After: return "after";
    }
    return "?";
}

std::optional<Collective> collective_named(std::string_view name) {
    for (int value = 0; value <= static_cast<int>(Collective::Barrier); ++value) {
        if (name_of(static_cast<Collective>(value)) == name) return static_cast<Collective>(value);
    }
    return std::nullopt;
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
    for (int value = 0; value <= static_cast<int>(Algorithm::Staged); ++value) {
        if (name_of(static_cast<Algorithm>(value)) == name) return static_cast<Algorithm>(value);
    }
    return std::nullopt;
}

}  // namespace rondo::plan
