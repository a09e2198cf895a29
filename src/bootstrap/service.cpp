#include "bootstrap/service.hpp"

#include "base/error.hpp"
#include "bootstrap/acceptor.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/liveness.hpp"
#include "bootstrap/loop.hpp"
#include "bootstrap/registry.hpp"
#include "bootstrap/root.hpp"
#include "bootstrap/sockets.hpp"

namespace rondo::bootstrap {

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
    TcpListener tcp = listen_anywhere(settings.network.port_range);
    UnixListener local = listen_unix();
    loop_->start();
    port_ = tcp.port;
    unix_name_ = local.name;
    auto tcp_socket = std::make_shared<ProcessDescriptor>(std::move(tcp.socket));
    auto unix_socket = std::make_shared<ProcessDescriptor>(std::move(local.socket));
    loop_->post([this, tcp_socket, unix_socket] {
        acceptor_->add(std::move(*tcp_socket));
        acceptor_->add(std::move(*unix_socket));
    });
    started_.store(true, std::memory_order_release);
}

void Service::post(std::function<void()> task) { loop_->post(std::move(task)); }

bool Service::on_thread() const noexcept { return loop_->on_thread(); }

Contact Service::contact(const Settings& settings) const {
    return {choose_addresses(list_interfaces(), settings.network.socket_ifname), port_};
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
