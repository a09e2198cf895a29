#include "bootstrap/service.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/acceptor.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/liveness.hpp"
#include "bootstrap/loop.hpp"
#include "bootstrap/registry.hpp"
#include "bootstrap/root.hpp"
#include "bootstrap/sockets.hpp"

namespace rondo::bootstrap {

namespace {

TcpListeners listen(const NetworkSettings& network) {
    if (!network.socket_ifname.empty()) {
        return listen_on(choose_addresses(list_interfaces(), network.socket_ifname), network.port_range);
    }
    TcpListener any = listen_anywhere(network.port_range);
    TcpListeners one;
    one.port = any.port;
    one.sockets.push_back(std::move(any.socket));
    return one;
}

}  // namespace

Service::Service(const AcceptLimits& limits)
    : token_(Runtime::get().token()),
      loop_(std::make_shared<Loop>()),
      registry_(std::make_unique<Registry>(loop_)),
      acceptor_(std::make_unique<Acceptor>(*loop_, *registry_, limits)),
      liveness_(std::make_unique<Liveness>(loop_)) {}

Service::~Service() {
    if (!in_own_process()) {
        // The thread is not here, and may have held any lock.
        Runtime::get().keep(std::move(loop_));
        static_cast<void>(registry_.release());
        static_cast<void>(acceptor_.release());
        static_cast<void>(liveness_.release());
        return;
    }
    loop_->stop();
    acceptor_->clear();
    registry_->clear();
    liveness_->clear();
}

void Service::start(const Settings& settings) {
    const std::lock_guard lock(start_mutex_);
    if (started()) return;
    TcpListeners tcp = listen(settings.network);
    UnixListener local = listen_unix();
    loop_->start();
    port_ = tcp.port;
    unix_name_ = local.name;
    addresses_ = std::move(tcp.addresses);
    auto sockets = std::make_shared<std::vector<ProcessDescriptor>>(std::move(tcp.sockets));
    sockets->push_back(std::move(local.socket));
    loop_->post([this, sockets] {
        for (ProcessDescriptor& socket : *sockets) acceptor_->add(std::move(socket));
    });
    started_.store(true, std::memory_order_release);
}

void Service::post(std::function<void()> task) { loop_->post(std::move(task)); }

bool Service::on_thread() const noexcept { return loop_->on_thread(); }

Contact Service::contact(const Settings& settings) const {
    std::vector<Address> chosen = choose_addresses(list_interfaces(), settings.network.socket_ifname);
    if (!addresses_.empty()) {
        std::erase_if(chosen, [this](const Address& address) {
            return std::find(addresses_.begin(), addresses_.end(), address) == addresses_.end();
        });
    }
    return {std::move(chosen), port_};
}

std::shared_ptr<Root> make_root(Service& service, const Key& key, const Secret& secret) {
    auto root = std::make_shared<Root>(std::make_shared<LoopExecutor>(service.loop()), secret, [&service, key] {
        service.registry().mark_used(key);
        service.registry().remove_root(key);
    });
    service.registry().add_root(key, root);
    return root;
}

UniqueId make_unique_id(Service& service, const Settings& settings) {
    service.start(settings);
    Identity identity = new_identity();
    identity.root = service.contact(settings);
    const UniqueId id = encode(identity);
    service.post([&service, identity] { make_root(service, identity.key, identity.secret); });
    return id;
}

}  // namespace rondo::bootstrap
