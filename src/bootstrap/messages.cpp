#include "bootstrap/messages.hpp"

#include <cstring>

#include "base/error.hpp"
#include "bootstrap/wire.hpp"

namespace rondo::bootstrap {

namespace {

constexpr std::size_t kMostName = 4200;  // a host id may have 4096 bytes
constexpr std::size_t kMostCauseText = 8192;
constexpr std::size_t kMostCausePart = 1024;

void write(Writer& out, const Address& address) {
    out.u8(address.v6 ? 6 : 4);
    out.raw(address.bytes.data(), address.v6 ? 16 : 4);
}

Address read_address(Reader& in) {
    Address address;
    const std::uint8_t family = in.u8();
    if (family != 4 && family != 6) {
        throw make_error(Code::RemoteError, "malformed message: address family {}", family);
    }
    address.v6 = family == 6;
    in.raw(address.bytes.data(), address.v6 ? 16 : 4);
    return address;
}

void write(Writer& out, const Site& site) {
    out.text(site.host);
    out.text(site.host_id);
    out.u64(site.pid_namespace);
    out.u32(static_cast<std::uint32_t>(site.addresses.size()));
    for (const Address& address : site.addresses) write(out, address);
}

Site read_site(Reader& in) {
    Site site;
    site.host = in.text(kMostName);
    site.host_id = in.text(kMostName);
    site.pid_namespace = in.u64();
    const std::size_t addresses = in.count(5);
    site.addresses.reserve(addresses);
    for (std::size_t i = 0; i < addresses; ++i) site.addresses.push_back(read_address(in));
    return site;
}

void write(Writer& out, const Process& process) {
    out.u64(process.token);
    out.u32(process.site);
    out.i32(process.pid);
    out.u64(process.start_time);
    out.u16(process.port);
    out.text(process.unix_name);
}

constexpr std::size_t kLeastProcess = 30;

Process read_process(Reader& in) {
    Process process;
    process.token = in.u64();
    process.site = in.u32();
    process.pid = in.i32();
    process.start_time = in.u64();
    process.port = in.u16();
    process.unix_name = in.text(107);  // what a sockaddr_un holds
    return process;
}

void write(Writer& out, const std::vector<std::string>& texts) {
    out.u32(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) out.text(text);
}

std::vector<std::string> read_texts(Reader& in, std::size_t limit) {
    std::vector<std::string> texts(in.count(4));
    for (std::string& text : texts) text = in.text(limit);
    return texts;
}

void check(bool right, const char* what) {
    if (!right) throw make_error(Code::RemoteError, "malformed message: {}", what);
}

}  // namespace

std::string encode(const Introduction& introduction) {
    Writer out;
    out.text(introduction.build);
    std::uint64_t timeout = 0;
    static_assert(sizeof timeout == sizeof introduction.timeout);
    std::memcpy(&timeout, &introduction.timeout, sizeof timeout);
    out.u64(timeout);
    write(out, introduction.process);
    write(out, introduction.site);
    return out.take();
}

Introduction decode_introduction(std::string_view bytes) {
    Reader in(bytes);
    Introduction introduction;
    introduction.build = in.text(kMostName);
    const std::uint64_t timeout = in.u64();
    std::memcpy(&introduction.timeout, &timeout, sizeof timeout);
    introduction.process = read_process(in);
    introduction.site = read_site(in);
    in.end();
    return introduction;
}

std::string encode(const JoinMessage& join) {
    Writer out;
    out.i32(join.nranks);
    out.i32(join.card.rank);
    out.text(join.card.facts);
    out.text(join.card.extra);
    return out.take();
}

JoinMessage decode_join(std::string_view bytes) {
    Reader in(bytes);
    JoinMessage join;
    join.nranks = in.i32();
    join.card.rank = in.i32();
    join.card.facts = in.text(kMostFactsBytes);
    join.card.extra = in.text(kMostExtraBytes);
    in.end();
    return join;
}

std::string encode(const Cause& cause) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(cause.code));
    out.i32(cause.rank);
    out.i32(cause.peer);
    out.u64(cause.sequence);
    for (const std::string* text :
         {&cause.text, &cause.operation, &cause.object, &cause.limit, &cause.number, &cause.remedy}) {
        out.text(*text);
    }
    return out.take();
}

Cause decode_cause(std::string_view bytes) {
    Reader in(bytes);
    Cause cause;
    const std::uint8_t code = in.u8();
    check(code != 0 && code <= static_cast<std::uint8_t>(Code::Aborted), "no code of a failure");
    cause.code = static_cast<Code>(code);
    cause.rank = in.i32();
    cause.peer = in.i32();
    cause.sequence = in.u64();
    cause.text = in.text(kMostCauseText);
    for (std::string* text : {&cause.operation, &cause.object, &cause.limit, &cause.number, &cause.remedy}) {
        *text = in.text(kMostCausePart);
    }
    in.end();
    return cause;
}

Cause fit(Cause cause) {
    if (cause.code == Code::Success) cause.code = Code::InternalError;
    if (cause.text.size() > kMostCauseText) cause.text.resize(kMostCauseText);
    for (std::string* text : {&cause.operation, &cause.object, &cause.limit, &cause.number, &cause.remedy}) {
        if (text->size() > kMostCausePart) text->resize(kMostCausePart);
    }
    return cause;
}

std::string encode(const Record& record) {
    Writer out;
    out.i32(record.rank);
    out.u64(record.sequence);
    out.u64(record.signature);
    for (const std::uint64_t word : record.call) out.u64(word);
    return out.take();
}

Record decode_record(std::string_view bytes) {
    Reader in(bytes);
    Record record;
    record.rank = in.i32();
    record.sequence = in.u64();
    record.signature = in.u64();
    for (std::uint64_t& word : record.call) word = in.u64();
    in.end();
    return record;
}

std::string encode(const MissingRanks& missing) {
    Writer out;
    out.i32(missing.joined);
    out.text(missing.ranks);
    return out.take();
}

MissingRanks decode_missing(std::string_view bytes) {
    Reader in(bytes);
    MissingRanks missing;
    missing.joined = in.i32();
    missing.ranks = in.text(kMostRootFrame);
    in.end();
    return missing;
}

std::string encode(const Roster& roster) {
    Writer out;
    out.u32(static_cast<std::uint32_t>(roster.sites.size()));
    for (const Site& site : roster.sites) write(out, site);
    out.u32(static_cast<std::uint32_t>(roster.processes.size()));
    for (const Process& process : roster.processes) write(out, process);
    out.u32(static_cast<std::uint32_t>(roster.process_of.size()));
    for (const std::int32_t process : roster.process_of) out.i32(process);
    write(out, roster.extra);
    out.i32(roster.root_process);
    return out.take();
}

Roster decode_roster(std::string_view bytes) {
    Reader in(bytes);
    Roster roster;
    const std::size_t sites = in.count(20);
    roster.sites.reserve(sites);
    for (std::size_t i = 0; i < sites; ++i) roster.sites.push_back(read_site(in));
    const std::size_t processes = in.count(kLeastProcess);
    roster.processes.reserve(processes);
    for (std::size_t i = 0; i < processes; ++i) {
        roster.processes.push_back(read_process(in));
        check(roster.processes.back().site < sites, "site of a process");
    }
    roster.process_of.resize(in.count(4));
    for (std::int32_t& process : roster.process_of) {
        process = in.i32();
        check(process >= 0 && static_cast<std::size_t>(process) < processes, "process of a rank");
    }
    roster.extra = read_texts(in, kMostExtraBytes);
    check(roster.extra.size() == roster.process_of.size(), "as many texts as ranks");
    roster.root_process = in.i32();
    check(roster.root_process >= -1 && roster.root_process < static_cast<std::int32_t>(processes), "root's process");
    in.end();
    return roster;
}

std::string encode(const StatusMessage& status) {
    Writer out;
    out.u64(status.number);
    out.text(status.text);
    return out.take();
}

StatusMessage decode_status(std::string_view bytes) {
    Reader in(bytes);
    StatusMessage status;
    status.number = in.u64();
    status.text = in.text(kMostReportBytes);
    in.end();
    return status;
}

std::string encode(const Errand& errand) {
    Writer out;
    out.i32(errand.process);
    out.i32(errand.source);
    out.i32(errand.destination);
    out.u16(errand.flow);
    out.u32(errand.milliseconds);
    out.text(errand.text.substr(0, kMostCauseText));
    return out.take();
}

Errand decode_errand(std::string_view bytes) {
    Reader in(bytes);
    Errand errand;
    errand.process = in.i32();
    errand.source = in.i32();
    errand.destination = in.i32();
    errand.flow = in.u16();
    errand.milliseconds = in.u32();
    errand.text = in.text(kMostCauseText);
    in.end();
    return errand;
}

std::string encode(const StatusReplyMessage& reply) {
    Writer out;
    out.u64(reply.number);
    write(out, reply.texts);
    return out.take();
}

StatusReplyMessage decode_status_reply(std::string_view bytes) {
    Reader in(bytes);
    StatusReplyMessage reply;
    reply.number = in.u64();
    reply.texts = read_texts(in, kMostReportBytes);
    in.end();
    return reply;
}

std::string encode(const std::vector<std::string>& reports) {
    Writer out;
    write(out, reports);
    return out.take();
}

std::vector<std::string> decode_reports(std::string_view bytes) {
    Reader in(bytes);
    std::vector<std::string> reports = read_texts(in, kMostReportBytes);
    in.end();
    return reports;
}

std::string encode(Rank rank) {
    Writer out;
    out.i32(rank);
    return out.take();
}

Rank decode_rank(std::string_view bytes) {
    Reader in(bytes);
    const Rank rank = in.i32();
    in.end();
    return rank;
}

std::string encode(const std::vector<Rank>& ranks) {
    Writer out;
    out.u32(static_cast<std::uint32_t>(ranks.size()));
    for (const Rank rank : ranks) out.i32(rank);
    return out.take();
}

std::vector<Rank> decode_ranks(std::string_view bytes) {
    Reader in(bytes);
    std::vector<Rank> ranks(in.count(4));
    for (Rank& rank : ranks) rank = in.i32();
    in.end();
    return ranks;
}

std::string encode(std::uint64_t number) {
    Writer out;
    out.u64(number);
    return out.take();
}

std::uint64_t decode_number(std::string_view bytes) {
    Reader in(bytes);
    const std::uint64_t number = in.u64();
    in.end();
    return number;
}

}  // namespace rondo::bootstrap
