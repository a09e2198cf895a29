#include "comm/communicator.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/cpus.hpp"
#include "base/error.hpp"
#include "base/runtime.hpp"

namespace rondo::comm {

namespace {

// An output of this many bytes, over all ranks, leaves the caches before anyone reads it: write it past them.
constexpr std::int64_t kStreamBytes = std::int64_t{8} << 20U;
constexpr double kAbortSeconds = 2;

}  // namespace

Communicator::Communicator(const bootstrap::UniqueId& id, Rank nranks, Rank rank, Options options)
    : options_(std::move(options)),
      rank_(rank),
      team_(Runtime::get().service<Teams>().join(id, nranks, rank, options_)),
      token_(Runtime::get().token()) {
    for (const DataType type : kAllDataTypes) {
        for (const ReduceOp op : kAllReduceOps) {
            kernels_[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)] = reduce::kernel_for(type, op);
        }
    }
}

Communicator::~Communicator() {
    if (!Runtime::get().same_process(token_)) return;
    engine_.reset();
    team_->depart(rank_);
}

void Communicator::make_engine() {
    const std::lock_guard lock(engine_mutex_);
    if (engine_) return;
    engine_.emplace(*team_, rank_, options_);
    joined_.store(true, std::memory_order_release);
    Runtime::get().logger().info(Subsystem::Init, rank_,
                                 "communicator '{}': {} ranks joined, {} slots of {} bytes a FIFO", options_.name,
                                 nranks(), options_.slots, options_.slot_bytes);
}

void Communicator::wait_until_joined() {
    if (joined_) return;
    team_->wait_until_settled();
    if (team_->failed()) throw_first_cause();
    make_engine();
}

Code Communicator::state() {
    if (!joined_) team_->check_init_time();
    if (team_->failed()) return code_seen_by(rank_, team_->cause());
    if (!team_->ready()) return Code::InProgress;
    if (!joined_) make_engine();
    return Code::Success;
}

const Cause* Communicator::first_cause() {
    if (!team_->failed()) return nullptr;
    const std::lock_guard lock(text_mutex_);
    if (!cause_) cause_ = team_->cause();
    return &*cause_;
}

const char* Communicator::error_text() {
    const Cause* first = first_cause();
    if (first == nullptr) return "";
    const Cause& cause = *first;
    const std::lock_guard lock(text_mutex_);
    if (text_.empty()) {
        text_ = fmt::format(
            "rank {} of {}{}{}: {}{}", rank_, nranks(), options_.name.empty() ? "" : " of ", options_.name,
            cause.rank == rank_ || cause.rank < 0 ? "" : fmt::format("rank {} failed first: ", cause.rank), cause.text);
    }
    return text_.c_str();
}

void Communicator::throw_first_cause() { throw Error(code_seen_by(rank_, team_->cause()), error_text()); }

void Communicator::throw_if_unusable() {
    if (team_->failed()) throw_first_cause();
    if (finalized_.load(std::memory_order_relaxed)) {
        throw make_error(Code::InvalidUsage, "rank {}: the communicator was finalized and takes no more operations",
                         rank_);
    }
    if (joined_) return;
    if (!team_->ready()) {
        throw make_error(Code::InvalidUsage,
                         "rank {}: init is still in progress (missing ranks: {}); poll rondoCommGetAsyncError until it "
                         "reports success",
                         rank_, team_->missing());
    }
    make_engine();
}

void Communicator::begin(const Operation& operation) {
    if (team_->failed() || !joined_ || finalized_.load(std::memory_order_relaxed)) throw_if_unusable();
    failure_ = {};
    seat_.take([this] { engine_->routes.wake(); });
    seated_ = true;
    try {
        start(operation);
    } catch (...) {
        leave_seat();
        throw;
    }
    running_ = true;
    if (planned_ && current_->bound.uses_peers()) {
        domain().enter(rank_);
        if (domain().gone_back()) {
            end();
            // Another process takes its buffers back only after a failure, of which this one may not have heard yet.
            team_->fail({.code = Code::RemoteError, .rank = rank_, .text = "a rank has given up the communicator"});
            throw_first_cause();
        }
    }
    if (planned_) engine_->execution.start(current_->bound);
}

void Communicator::start(const Operation& operation) {
    const bool planned = !operation.transfers.empty() || !operation.point_to_point();
    if (!operation.transfers.empty()) begin_transfers(operation.transfers);
    if (!operation.point_to_point()) begin_call(operation.call);
    if (!planned) engine_->watch.begin(0, {}, patience_);
    if (!operation.messages.empty()) begin_messages(operation.messages);
    planned_ = planned;
}

void Communicator::begin_call(const Call& call) {
    const PackedCall packed = pack(call);
    const Found found = engine_->plans.find(call, packed);
    current_ = found.plan;
    if (scratch_.size() < current_->scratch_bytes()) scratch_.resize(current_->scratch_bytes());
    const std::uint64_t sequence = ++sequence_;
    const std::uint64_t signature = signature_of(sequence, found.call_hash, signature_);
    signature_ = signature;
    const std::size_t element_bytes = size_of(call.type);
    engine_->execution.launch() = {
        .sequence = sequence,
        .signature = signature,
        .count = call.count,
        .element_bytes = element_bytes,
        .cut = current_->cut_for(element_bytes),
        .kernel = kernels_[static_cast<std::size_t>(call.type)][static_cast<std::size_t>(call.op)],
        .divisor = call.op == ReduceOp::Avg ? static_cast<std::uint32_t>(nranks()) : 1,
        .stream = total_bytes(call, nranks()) * nranks() >= kStreamBytes,
        .input = static_cast<const std::byte*>(call.input),
        .output = static_cast<std::byte*>(call.output),
        .scratch = scratch_.data()};
    engine_->watch.begin(sequence, packed, patience_);
    domain().records(rank_).publish(
        {.sequence = sequence, .signature = signature, .input = call.input, .output = call.output, .call = packed});
}

void Communicator::begin_transfers(const std::vector<Transfer>& transfers) {
    current_ = &engine_->plans.find(transfers);
    send_blocks_.clear();
    receive_blocks_.clear();
    for (const Transfer& transfer : transfers) {
        const host::BlockExtent block{transfer.data, transfer.bytes, transfer_signature(transfer.bytes)};
        send_blocks_.push_back(transfer.send ? block : host::BlockExtent{});
        receive_blocks_.push_back(transfer.send ? host::BlockExtent{} : block);
    }
    engine_->execution.launch() = {
        .sequence = sequence_,
        .element_bytes = 1,
        .cut = current_->cut_for(1),
        .kernel = kernels_[static_cast<std::size_t>(DataType::Uint8)][static_cast<std::size_t>(ReduceOp::Sum)],
        .input_blocks = send_blocks_,
        .output_blocks = receive_blocks_};
    engine_->watch.begin(0, {}, patience_);
}

void Communicator::begin_messages(const std::vector<Message>& messages) {
    Engine& engine = *engine_;
    accept_messages();
    if (!engine.messages) engine.messages.emplace(engine.routes, rank_, nranks());
    auto batch = std::make_unique<MessageBatch>(messages);
    engine.messages->post(*batch);
    batch_ = std::move(batch);
    engine.watch.add_messages(*engine.messages, *batch_);
}

bool Communicator::poll() {
    bool moved = poll_messages();
    if (planned_) {
        moved = poll_plan() || moved;
        if (planned_) return moved;
    } else {
        moved = engine_->routes.progress() || moved;
    }
    if (batch_ && !batch_->over() && !team_->failed()) return moved;
    end();
    return true;
}

/// In the seat: begins what was submitted.
void Communicator::accept_messages() {
    if (!submitted_any_.load(std::memory_order_seq_cst)) return;
    MessageBatch* last = nullptr;
    {
        const std::lock_guard lock(submitted_mutex_);
        last = std::exchange(submitted_, nullptr);
        submitted_any_.store(false, std::memory_order_seq_cst);
    }
    MessageBatch* first = nullptr;
    while (last != nullptr) {
        MessageBatch* const before = std::exchange(last->next, first);
        first = std::exchange(last, before);
    }
    try {
        if (!engine_->messages) engine_->messages.emplace(engine_->routes, rank_, nranks());
        while (first != nullptr) {
            MessageBatch* const batch = std::exchange(first, first->next);
            engine_->messages->post(*batch);
        }
    } catch (...) {
        const Failure failure = current_failure();
        fail(Error(failure.code, failure.text));
    }
}

bool Communicator::poll_messages() {
    accept_messages();
    if (!engine_->messages) return false;
    Messages& messages = *engine_->messages;
    const bool moved = messages.progress();
    if (messages.take_news()) seat_.announce();
    // They may not be those that the running operation waits for.
    if (moved && running_) engine_->watch.look();
    if (!messages.fault().empty() && !team_->failed()) {
        team_->fail({.code = Code::InternalError, .rank = rank_, .text = messages.fault()});
    }
    return moved;
}

/// planned_ says whether the plan goes on.
bool Communicator::poll_plan() {
    Engine& engine = *engine_;
    const bool moved = engine.routes.progress();
    const bool any = engine.execution.state() == host::State::Running && engine.execution.progress();
    if (any) engine.routes.progress();
    engine.watch.came_on(any || (moved && engine.execution.state() == host::State::Done));
    switch (engine.execution.state()) {
        case host::State::Running:
            if (!(any && team_->failed())) return any || moved;
            break;
        case host::State::Done:
            // The call is over when its last messages are on their way: nobody moves them between calls.
            if (!engine.routes.flushed() && !team_->failed()) return any || moved;
            break;
        case host::State::Unreadable: engine.watch.report(engine.execution.unread()); break;
        case host::State::Mismatch: engine.watch.report(engine.execution.disagreement()); break;
    }
    end_plan();
    return true;
}

void Communicator::end_plan() noexcept {
    if (planned_ && current_->bound.uses_peers()) domain().leave(rank_);
    planned_ = false;
}

void Communicator::end() noexcept {
    end_plan();
    running_ = false;
    if (batch_) {
        if (!batch_->over()) engine_->messages->drop(*batch_);
        failure_ = batch_->take_failure();
        batch_.reset();
    }
    leave_seat();
}

void Communicator::leave_seat() noexcept {
    if (!seated_) return;
    seated_ = false;
    seat_.leave();
}

void Communicator::enter_beside() {
    throw_if_unusable();
    const std::lock_guard lock(turn_mutex_);
    ++beside_;
}

void Communicator::leave_beside() {
    const std::lock_guard lock(turn_mutex_);
    --beside_;
    turn_changed_.notify_all();
}

void Communicator::submit(MessageBatch& batch) noexcept {
    {
        const std::lock_guard lock(submitted_mutex_);
        batch.next = std::exchange(submitted_, &batch);
        submitted_any_.store(true, std::memory_order_seq_cst);
    }
    // Whoever takes the seat from now on looks for it first.
    if (seat_.taken()) engine_->routes.wake();
}

Code Communicator::wait_beside(MessageBatch& batch, const Patience& patience) {
    MessageWait wait(batch, patience);
    const auto over = [&] { return batch.over(); };
    const auto look = [&] { engine_->watch.look(wait); };
    while (seat_.take_beside(wait_policy().tick, over, look)) {
        accept_messages();
        engine_->watch.begin_beside(engine_->messages ? &*engine_->messages : nullptr, wait);
        const Code code = drive_beside(wait);
        if (code != Code::Success && engine_->messages) engine_->messages->drop(batch);
        seat_.leave_beside();
        if (code != Code::Success) return code;
    }
    return Code::Success;
}

/// Until the messages are over, or the seat is wanted.
Code Communicator::drive_beside(MessageWait& wait) {
    engine_->watch.look(wait);  // the seat may be wanted before this thread is to sleep
    transport::Waiter waiter(wait_policy(), bell(), watch());
    while (!wait.batch.over() && !seat_.wanted()) {
        const bool moved = engine_->routes.progress();
        if (poll_messages() || moved) {
            waiter.restart();
            engine_->watch.look(wait);
        } else if (const Code code = waiter.pause(); code != Code::Success) {
            return code;
        }
    }
    return Code::Success;
}

void Communicator::abandon() noexcept {
    if (running_) end();
}

Code Communicator::result() noexcept { return team_->failed() ? code_seen_by(rank_, team_->cause()) : Code::Success; }

Code Communicator::operation_result() noexcept { return team_->failed() ? result() : failure_.code; }

std::string Communicator::operation_text() { return team_->failed() ? error_text() : failure_.text; }

std::uint64_t Communicator::take_ticket() {
    const std::lock_guard lock(turn_mutex_);
    pending_.fetch_add(1, std::memory_order_relaxed);
    return tickets_++;
}

void Communicator::await_turn(std::uint64_t ticket) {
    std::unique_lock lock(turn_mutex_);
    turn_changed_.wait(lock, [&] { return turns_ == ticket; });
}

void Communicator::turn_done() {
    // All of it under the lock: whoever finds the queue empty, under the lock, may destroy the communicator.
    const std::lock_guard lock(turn_mutex_);
    ++turns_;
    pending_.fetch_sub(1, std::memory_order_release);
    turn_changed_.notify_all();
}

void Communicator::drain() {
    if (pending_.load(std::memory_order_acquire) == 0) return;
    std::unique_lock lock(turn_mutex_);
    turn_changed_.wait(lock, [&] { return turns_ == tickets_; });
}

void Communicator::await_empty_queue() {
    std::unique_lock lock(turn_mutex_);
    turn_changed_.wait(lock, [&] { return turns_ == tickets_ && beside_ == 0; });
}

void Communicator::finalize() {
    await_empty_queue();
    finalized_.store(true, std::memory_order_relaxed);
}

void Communicator::abort() {
    check_process();
    team_->fail({.code = Code::Aborted, .rank = rank_, .text = fmt::format("rank {} aborted the communicator", rank_)});
    revoke();
}

void Communicator::revoke() const noexcept {
    if (!team_->ready()) return;
    domain().take_back(rank_);
    const Deadline deadline = Deadline::after(kAbortSeconds);
    for (const Rank peer : domain().members()) {
        while (peer != rank_ && domain().inside(peer) && !deadline.expired() && !team_->has_ended(peer)) {
            std::this_thread::yield();
        }
    }
}

const host::Traffic& Communicator::traffic() {
    if (!joined_) throw_if_unusable();
    return engine_->traffic;
}

const std::string& Communicator::last_plan() const noexcept {
    static const std::string none;
    return current_ == nullptr ? none : current_->id;
}

plan::PlannedTraffic Communicator::planned_traffic() const {
    const auto n = static_cast<std::size_t>(nranks());
    if (current_ == nullptr) {
        return {std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n)};
    }
    const host::Launch& launch = engine_->execution.launch();
    std::vector<std::int64_t> inputs;
    std::vector<std::int64_t> outputs;
    for (const host::BlockExtent& block : launch.input_blocks) inputs.push_back(block.extent);
    for (const host::BlockExtent& block : launch.output_blocks) outputs.push_back(block.extent);
    return plan::traffic_of(current_->bound.plan(), {.count = launch.count,
                                                     .element_bytes = static_cast<std::int64_t>(launch.element_bytes),
                                                     .cut = launch.cut,
                                                     .input_extents = inputs,
                                                     .output_extents = outputs});
}

Communicator::Presence::Presence(Communicator& comm) : comm_(comm) {
    comm.check_process();
    if (comm.busy_.exchange(true, std::memory_order_acquire)) {
        throw make_error(Code::InvalidUsage,
                         "rank {}: another thread is inside this communicator; use one thread at a time, or a "
                         "communicator for each thread",
                         comm.rank_);
    }
}

}  // namespace rondo::comm
