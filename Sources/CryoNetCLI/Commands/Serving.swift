// A gateway in the foreground: start, ready file, signals, drain, exit status.
// Domain: cold

import CryoConfig
import CryoGateway
import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc

/// TERM and INT drain, a second one ends at once. HUP reloads the configuration and reopens the audit file.
final class Serving: Sendable {
    private let configuration: GatewayConfiguration
    private let readyFile: String?
    private let reload: (@Sendable () -> LoadedConfiguration?)?
    private let log = Log()
    private let queue = DispatchQueue(label: "cryonet.control")
    private let finished = DispatchSemaphore(value: 0)
    private let isDraining = Atomic<Bool>(false)

    init(_ configuration: GatewayConfiguration, readyFile: String?, reload: (@Sendable () -> LoadedConfiguration?)?) {
        self.configuration = configuration
        self.readyFile = readyFile
        self.reload = reload
    }

    /// Serves until a signal ends it. `started` gets the address.
    func run(_ started: (String) -> Void = { _ in }) -> Int32 {
        do {
            makeRoom()
            let gateway = try Gateway(configuration, log: log)
            let signals = Signals(queue: queue)
            signals.on(SIGTERM) { [self] in end(gateway) }
            signals.on(SIGINT) { [self] in end(gateway) }
            signals.on(SIGHUP) { [self] in takeConfiguration(gateway) }
            let addresses = try gateway.start()
            for address in addresses { log.info("listening on \(address)") }
            if let readyFile { try ReadyFile.write(readyFile, addresses) }
            started(addresses.first ?? "")
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
        let connectionsMax = UInt64(configuration.limits.connectionsMax)
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

    private func takeConfiguration(_ gateway: Gateway) {
        guard let reload else {
            gateway.reopenAudit()
            return log.info("audit file reopened; there is no configuration file to reload")
        }
        guard let loaded = reload() else { return log.error("reload refused: the configuration has problems; the old one stays") }
        do throws(GatewayError) {
            try gateway.reload(loaded.configuration)
            log.info("configuration reloaded")
        } catch {
            log.error("reload refused: \(error); the old configuration stays")
        }
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
