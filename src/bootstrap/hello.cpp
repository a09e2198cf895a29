#include "bootstrap/hello.hpp"

#include "bootstrap/crypto.hpp"
#include "bootstrap/wire.hpp"

namespace rondo::bootstrap {

namespace {

constexpr std::uint32_t kMagic = 0x4f444e52;  // "RNDO"
constexpr std::size_t kHeadBytes = 8;         // magic, version, length
constexpr std::size_t kChallengeBytes = kNonceBytes + kMacBytes;
constexpr std::size_t kRefusalBytes = 3;  // reason, version

enum class Reply : std::uint8_t { Challenge = 1, Refused = 2, Ok = 3 };

char byte_of(Reply reply) { return static_cast<char>(reply); }

std::string encode(const Hello& hello, std::string_view nonce) {
    Writer body;
    body.u8(static_cast<std::uint8_t>(hello.purpose));
    body.raw(hello.key.data(), hello.key.size());
    body.raw(nonce);
    body.u64(hello.token);
    body.i32(hello.source);
    body.i32(hello.destination);
    body.u16(hello.flow);
    Writer all;
    all.u32(kMagic);
    all.u16(kWireVersion);
    all.u16(static_cast<std::uint16_t>(kHeadBytes + body.bytes().size()));
    all.raw(body.bytes());
    return all.take();
}

constexpr std::size_t kHelloBytes = kHeadBytes + 1 + 16 + kNonceBytes + 8 + 4 + 4 + 2;
static_assert(kHelloBytes <= kMostHelloBytes);

std::string mac(const Secret& secret, std::string_view side, std::string_view server_nonce, std::string_view hello) {
    // The hello holds the client's nonce. Each part but the last has a fixed length or ends with its own mark.
    std::string message(side);
    message += '\0';
    message += server_nonce;
    message += hello;
    return keyed_hash(secret, message);
}

}  // namespace

// --- Client ----------------------------------------------------------------------------------------------------------

ClientHandshake::ClientHandshake(const Hello& hello, const Secret& secret)
    : secret_(secret), hello_(encode(hello, random_bytes(kNonceBytes))), output_(hello_) {}

std::string ClientHandshake::take_output() { return std::exchange(output_, {}); }

std::size_t ClientHandshake::wanted() const noexcept {
    if (state_ != State::Running) return 0;
    switch (step_) {
        case Step::Challenge: return kChallengeBytes - input_.size();
        case Step::Refusal: return kRefusalBytes - input_.size();
        case Step::Kind:
        case Step::Ok: return 1;
    }
    return 0;
}

void ClientHandshake::feed(std::string_view bytes) {
    while (!bytes.empty() && wanted() != 0) {
        const std::string_view part = bytes.substr(0, wanted());
        bytes.remove_prefix(part.size());
        const bool complete = part.size() == wanted();
        input_ += part;
        if (complete) finish_step();
    }
}

void ClientHandshake::finish_step() {
    const std::string input = std::exchange(input_, {});
    switch (step_) {
        case Step::Kind:
            if (input[0] == byte_of(Reply::Challenge)) {
                step_ = Step::Challenge;
            } else if (input[0] == byte_of(Reply::Refused)) {
                step_ = Step::Refusal;
            } else {
                state_ = State::Garbage;
            }
            return;
        case Step::Challenge: {
            const std::string nonce = input.substr(0, kNonceBytes);
            if (!equal(mac(secret_, "server", nonce, hello_), input.substr(kNonceBytes))) {
                state_ = State::WrongSecret;
                return;
            }
            output_ = mac(secret_, "client", nonce, hello_);
            step_ = Step::Ok;
            return;
        }
        case Step::Refusal: {
            Reader in(input);
            refusal_ = static_cast<rondo::bootstrap::Refusal>(in.u8());
            server_version_ = in.u16();
            const bool known =
                refusal_ == Refusal::Version || refusal_ == Refusal::UnknownId || refusal_ == Refusal::UsedId;
            state_ = known ? State::Refused : State::Garbage;
            return;
        }
        case Step::Ok: state_ = input[0] == byte_of(Reply::Ok) ? State::Done : State::Garbage; return;
    }
}

// --- Server ----------------------------------------------------------------------------------------------------------

std::string ServerHandshake::take_output() { return std::exchange(output_, {}); }

std::size_t ServerHandshake::wanted() const noexcept {
    if (state_ != State::Running) return 0;
    switch (step_) {
        case Step::Head: return kHeadBytes - input_.size();
        case Step::Body: return body_bytes_ - input_.size();
        case Step::Proof: return kMacBytes - input_.size();
    }
    return 0;
}

void ServerHandshake::feed(std::string_view bytes) {
    while (!bytes.empty() && wanted() != 0) {
        const std::string_view part = bytes.substr(0, wanted());
        bytes.remove_prefix(part.size());
        const bool complete = part.size() == wanted();
        input_ += part;
        if (complete) finish_step();
    }
}

void ServerHandshake::finish_step() {
    switch (step_) {
        case Step::Head: check_head(); return;
        case Step::Body: answer_hello(); return;
        case Step::Proof:
            if (!equal(mac(secret_, "client", server_nonce_, hello_bytes_), input_)) {
                state_ = State::WrongSecret;
                return;
            }
            output_ += byte_of(Reply::Ok);
            state_ = State::Done;
            return;
    }
}

void ServerHandshake::check_head() {
    Reader in(input_);
    if (in.u32() != kMagic) {
        state_ = State::Garbage;
        return;
    }
    if (in.u16() != kWireVersion) {
        refuse(Refusal::Version);
        return;
    }
    if (in.u16() != kHelloBytes) {
        state_ = State::Garbage;
        return;
    }
    body_bytes_ = kHelloBytes - kHeadBytes;
    hello_bytes_ = std::exchange(input_, {});
    step_ = Step::Body;
}

void ServerHandshake::answer_hello() {
    hello_bytes_ += input_;
    Reader in(input_);
    const std::uint8_t purpose = in.u8();
    if (purpose < static_cast<std::uint8_t>(Purpose::Control) || purpose > static_cast<std::uint8_t>(Purpose::News)) {
        state_ = State::Garbage;
        return;
    }
    hello_.purpose = static_cast<Purpose>(purpose);
    in.raw(hello_.key.data(), hello_.key.size());
    in.raw(kNonceBytes);
    hello_.token = in.u64();
    hello_.source = in.i32();
    hello_.destination = in.i32();
    hello_.flow = in.u16();
    input_.clear();
    const auto [secret, refusal] = lookup_(hello_);
    if (!secret) {
        refuse(refusal);
        return;
    }
    secret_ = *secret;
    server_nonce_ = random_bytes(kNonceBytes);
    output_ += byte_of(Reply::Challenge);
    output_ += server_nonce_;
    output_ += mac(secret_, "server", server_nonce_, hello_bytes_);
    step_ = Step::Proof;
}

void ServerHandshake::refuse(Refusal refusal) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(Reply::Refused));
    out.u8(static_cast<std::uint8_t>(refusal));
    out.u16(kWireVersion);
    output_ += out.bytes();
    state_ = State::Refused;
}

}  // namespace rondo::bootstrap
