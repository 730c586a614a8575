// A gateway in the foreground: start, ready file, signals, drain, exit status.
// Domain: cold

import CryoAdmin
import CryoConfig
import CryoGateway
import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc

/// TERM and INT drain, a second one ends at once. HUP reloads the configuration and reopens the audit file, USR1 does only that.
final class Serving: Sendable {
    private let loaded: Mutex<LoadedConfiguration>
    private let readyFile: String?
    private let reload: (@Sendable () -> Result<LoadedConfiguration, ConfigurationTrouble>)?
    private let log = Log()
    private let queue = DispatchQueue(label: "cryonet.control")
    private let finished = DispatchSemaphore(value: 0)
    private let isDraining = Atomic<Bool>(false)
    private let current = Mutex<Gateway?>(nil)

    init(
        _ loaded: LoadedConfiguration, readyFile: String?, reload: (@Sendable () -> Result<LoadedConfiguration, ConfigurationTrouble>)?
    ) {
        self.loaded = Mutex(loaded)
        self.readyFile = readyFile
        self.reload = reload
    }

    /// Serves until a signal ends it. `started` gets the address, and where the inspector is.
    func run(_ started: (String, String?) -> Void = { _, _ in }) -> Int32 {
        do {
            makeRoom()
            let gateway = try Gateway(loaded.withLock { $0.configuration }, log: log, actions: actions)
            current.withLock { $0 = gateway }
            defer { current.withLock { $0 = nil } }
            let signals = Signals(queue: queue)
            signals.on(SIGTERM) { [self] in end(gateway) }
            signals.on(SIGINT) { [self] in end(gateway) }
            signals.on(SIGHUP) { [self] in takeConfiguration(gateway) }
            signals.on(SIGUSR1) { [self] in reopenAudit(gateway) }
            let addresses = try gateway.start()
            for address in addresses { log.info("listening on \(address)") }
            let keyFiles = try announce(gateway.adminAccess)
            defer { for file in keyFiles { unlink(file) } }
            if let readyFile { try ReadyFile.write(readyFile, addresses, admin: gateway.adminAccess?.address) }
            started(addresses.first ?? "", gateway.adminAccess.flatMap(Self.inspector))
            fflush(nil)
            finished.wait()
            signals.stop()
            gateway.close()
            if let readyFile { unlink(readyFile) }
            return ExitStatus.done
        } catch {
            log.error("\(error)")
            return ExitStatus.failed
        }
    }

    /// A connection needs a descriptor, and its exchange another one: without them connections wait in the kernel.
    private func makeRoom() {
        let descriptors = DescriptorLimit.raise()
        let connectionsMax = UInt64(loaded.withLock { $0.configuration.limits.connectionsMax })
        guard descriptors > 0, descriptors < connectionsMax else { return }
        log.warning("limits.connections_max is \(connectionsMax), but only \(descriptors) descriptors may be open (ulimit -n)")
    }

    private func end(_ gateway: Gateway) {
        if isDraining.exchange(true, ordering: .relaxed) {
            log.info("second signal: ending at once")
            finished.signal()
            return
        }
        log.info("draining; a second signal ends at once")
        gateway.drain { [self] in finished.signal() }
    }

    private func reopenAudit(_ gateway: Gateway) {
        gateway.reopenAudit()
        log.info("audit file reopened")
    }

    @discardableResult
    private func takeConfiguration(_ gateway: Gateway) -> ReloadAnswer {
        guard let reload else {
            gateway.reopenAudit()
            log.info("audit file reopened; there is no configuration file to reload")
            return .nothingToReload
        }
        let loaded: LoadedConfiguration
        switch reload() {
        case .success(let read): loaded = read
        case .failure(let trouble):
            gateway.reloadRefused()
            log.error("reload refused: the configuration has problems; the old one stays")
            return .refused("the configuration has problems; the old one stays", problems: trouble.lines)
        }
        do throws(GatewayError) {
            let needsRestart = try gateway.reload(loaded.configuration)
            self.loaded.withLock { $0 = loaded }
            log.info("configuration reloaded")
            return .done(needsRestart: needsRestart)
        } catch {
            log.error("reload refused: \(error); the old configuration stays")
            return .refused("\(error); the old configuration stays", problems: [])
        }
    }

    /// What the admin side may ask of this program. Everything runs on the control queue, as signals do.
    private var actions: GatewayActions {
        GatewayActions(
            version: CommandLineInterface.version,
            configurationText: { [self] in ConfigurationPrinter.text(of: loaded.withLock { $0 }) },
            reload: { [self] completion in
                queue.async { @Sendable [self] in
                    guard let gateway = current.withLock({ $0 }) else { return completion(.nothingToReload) }
                    completion(takeConfiguration(gateway))
                }
            },
            drain: { [self] in
                queue.async { @Sendable [self] in
                    // Asked twice is not meant as a second signal is.
                    if let gateway = current.withLock({ $0 }), !isDraining.load(ordering: .relaxed) { end(gateway) }
                }
            })
    }

    /// The page's address with the key in its fragment, which no browser sends; nil where no browser comes.
    private static func inspector(_ access: AdminAccess) -> String? {
        if access.address.hasPrefix("unix:") { return nil }
        return access.key.withBytes { "http://\(access.address)/#key=\(String(decoding: $0, as: UTF8.self))" }
    }

    /// Tells where the admin side is and what its key is: people by the log, commands by files. The files that were written.
    private func announce(_ access: AdminAccess?) throws(GatewayError) -> [String] {
        guard let access else { return [] }
        log.info("admin side on \(access.address)")
        if !access.isKeyConfigured {
            access.key.withBytes { bytes in
                log.info("admin key \(String(decoding: bytes, as: UTF8.self)), for Authorization: Bearer KEY")
            }
            if let address = Self.inspector(access) { log.info("inspector \(address)") }
        }
        return try AdminKeyFile.write(access, readyFile: readyFile, log: log)
    }
}

/// The demo API alone, for containers.
struct UpstreamServing {
    private let listen: String
    private let allowsRemote: Bool
    private let readyFile: String?

    init(_ listen: String, allowsRemote: Bool, readyFile: String?) {
        self.listen = listen
        self.allowsRemote = allowsRemote
        self.readyFile = readyFile
    }

    func run() -> Int32 {
        // Read as a gateway's listen address, so that the same rules and messages apply.
        var quick = QuickConfiguration(url: "http://127.0.0.1:9")
        quick.listen = listen
        quick.unsafeListen = allowsRemote
        guard let loaded = ConfigurationFile.report(quick.load(environment: { _ in nil }), showsWarnings: false) else {
            return ExitStatus.failed
        }
        let finished = DispatchSemaphore(value: 0)
        let signals = Signals(queue: DispatchQueue(label: "cryonet.control"))
        signals.on(SIGTERM) { finished.signal() }
        signals.on(SIGINT) { finished.signal() }
        do {
            let demo = try Demo(loaded.configuration.listen)
            Log().info("demo API listening on \(demo.upstreamAddress)")
            if let readyFile { try ReadyFile.write(readyFile, [demo.upstreamAddress]) }
            finished.wait()
            signals.stop()
            demo.stop()
            return ExitStatus.done
        } catch {
            print(error: error.description)
            return ExitStatus.failed
        }
    }
}
