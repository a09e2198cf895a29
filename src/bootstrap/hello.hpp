#pragma once
// The handshake by which two processes prove to each other that they know a communicator's secret, before anything else
// is read from a socket. Pure state machines: bytes in, bytes out.
//
//   client: HELLO     what it wants, which communicator, a fresh nonce
//   server: CHALLENGE its own fresh nonce, MAC(secret, "server", nonces, hello), or REFUSED with a reason
//   client: PROOF     MAC(secret, "client", nonces, hello)
//   server: OK
//
// MAC is keyed BLAKE2b with 32 bytes. A hello that is replayed is worth nothing: the server's nonce is new.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "bootstrap/unique_id.hpp"

namespace rondo::bootstrap {

inline constexpr std::uint16_t kWireVersion = 1;
inline constexpr std::size_t kMostHelloBytes = 512;

enum class Purpose : std::uint8_t {
    Control = 1,  ///< to the root of the communicator
    Data = 2,     ///< messages between two ranks
    Memory = 3,   ///< descriptors of shared memory, between processes of one host, over a Unix socket
    News = 4,     ///< a failure, when the root has left
};

struct Hello {
    Purpose purpose = Purpose::Control;
    Key key{};                ///< filled in by Session::connect
    std::uint64_t token = 0;  ///< of the calling process, see Process; filled in by Session::connect
    Rank source = -1;         ///< the calling rank; -1 where it is the process as a whole
    Rank destination = -1;    ///< a rank of the called process; -1 for Control
    std::uint16_t flow = 0;   ///< for the owners' use: which of several connections

    bool operator==(const Hello&) const = default;
};

enum class Refusal : std::uint8_t {
    Version = 1,    ///< the server speaks another version of the protocol
    UnknownId = 2,  ///< no such communicator here (yet)
    UsedId = 3,     ///< the id has served a communicator already
};

class ClientHandshake {
public:
    enum class State : std::uint8_t {
        Running,
        Done,
        Refused,      ///< see refusal()
        WrongSecret,  ///< the server could not prove that it knows the secret
        Garbage,      ///< the server speaks something else
    };

    /// Errors: SystemError (no random bytes).
    ClientHandshake(const Hello& hello, const Secret& secret);

    /// What is to be sent now; empties it.
    [[nodiscard]] std::string take_output();
    /// How many more bytes feed() takes: never read more, what follows belongs to the owner of the connection.
    [[nodiscard]] std::size_t wanted() const noexcept;
    void feed(std::string_view bytes);

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }
    /// Of a server that refused because of its version.
    [[nodiscard]] std::uint16_t server_version() const noexcept { return server_version_; }

private:
    enum class Step : std::uint8_t { Kind, Challenge, Refusal, Ok };

    void finish_step();

    const Secret secret_;
    std::string hello_;
    std::string output_;
    std::string input_;
    Step step_ = Step::Kind;
    State state_ = State::Running;
    Refusal refusal_ = Refusal::UnknownId;
    std::uint16_t server_version_ = 0;
};

class ServerHandshake {
public:
    enum class State : std::uint8_t {
        Running,
        Done,
        Refused,      ///< the output holds the refusal: send it, then close
        WrongSecret,  ///< the client could not prove that it knows the secret
        Garbage,      ///< the client speaks something else
    };

    /// The secret for a hello, or why it is refused. Called once, before anything is proved.
    struct Answer {
        std::optional<Secret> secret;
        Refusal refusal = Refusal::UnknownId;
    };
    using Lookup = std::function<Answer(const Hello&)>;

    explicit ServerHandshake(Lookup lookup) : lookup_(std::move(lookup)) {}

    [[nodiscard]] std::string take_output();
    [[nodiscard]] std::size_t wanted() const noexcept;
    void feed(std::string_view bytes);

    [[nodiscard]] State state() const noexcept { return state_; }
    /// The hello was fit, and the client has been asked for its proof.
    [[nodiscard]] bool challenged() const noexcept { return step_ == Step::Proof; }
    /// What the client claims; proved once the state is Done.
    [[nodiscard]] const Hello& hello() const noexcept { return hello_; }

private:
    enum class Step : std::uint8_t { Head, Body, Proof };

    void finish_step();
    void check_head();
    void answer_hello();
    void refuse(Refusal refusal);

    Lookup lookup_;
    Hello hello_;
    Secret secret_{};
    std::string hello_bytes_;
    std::string server_nonce_;
    std::string output_;
    std::string input_;
    std::size_t body_bytes_ = 0;
    Step step_ = Step::Head;
    State state_ = State::Running;
};

}  // namespace rondo::bootstrap
