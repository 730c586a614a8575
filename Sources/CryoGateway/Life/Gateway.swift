// The composition root: builds everything a configuration asks for, runs it, reloads it, drains it.
// Domain: cold (`consumer` is called on workers)

import CryoAdmin
import CryoAudit
import CryoCoding
package import CryoConfig
import CryoHTTP
import CryoIO
import CryoJSON
package import CryoPipeline
import CryoServer
import CryoSync
import CryoUpstream
import Dispatch
import Glibc

/// Why the gateway could not start or take a configuration. Holds no secret.
package struct GatewayError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

package final class Gateway: RequestAcceptor {
    private let log: Log
    private let workers: [Worker]
    // SAFETY: element `index` is used on worker `index` only.
    private nonisolated(unsafe) let environments: [ExchangeEnvironment]
    private let counters: [ExchangeCounters]
    private let surroundings: Composition.Surroundings
    private let current: Mutex<Composition>
    /// Counts the changes of `current`, after each.
    private let reloads = Atomic<UInt64>(0)
    private let server = Mutex<Server?>(nil)
    private let admin = Mutex<AdminSide?>(nil)
    let adminKey: Secret
    /// The configuration of the start: what a reload can't change stays as it says.
    let started: GatewayConfiguration
    private let monitor = Mutex<MonitorWriter?>(nil)
    private let stage = Mutex(Life())
    let actions: GatewayActions?
    /// What the admin side is shown of the exchanges; nil without one.
    package let feed: ExchangeFeed?
    let startUnixSeconds = Clock.unixMicroseconds() / 1_000_000

    /// What has happened to the gateway as a whole.
    struct Life {
        var isDraining = false
        var reloadsDone: UInt64 = 0
        var reloadsRefused: UInt64 = 0
        var isLastReloadTaken = true
        /// Where clients connect, once the listener is open.
        var boundAddress: String?
    }

    /// Builds workers, token sources and the audit of `configuration`; opens no port.
    package init(_ configuration: GatewayConfiguration, log: Log, actions: GatewayActions? = nil) throws(GatewayError) {
        self.log = log
        self.actions = actions
        started = configuration
        adminKey = try Self.adminKey(configuration.adminKey)
        CurlGlobal.initialize()
        let count = configuration.workers > 0 ? configuration.workers : max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        var workers: [Worker] = []
        do {
            for index in 0..<count { workers.append(try Worker(index: index)) }
        } catch {
            throw GatewayError("can't make a worker: \(error)")
        }
        self.workers = workers
        counters = workers.map { _ in ExchangeCounters() }
        let directory = Self.temporaryDirectory()
        let pseudonym = Array("cryonet-\(String(UInt32.random(in: .min ... .max), radix: 36))".utf8)
        var environments: [ExchangeEnvironment] = []
        do {
            for (worker, counters) in zip(workers, counters) {
                environments.append(
                    ExchangeEnvironment(
                        forwarder: try CurlForwarder(on: worker), scanner: JSONScanner(), openSpill: { Self.openSpill(directory) },
                        decode: Self.decode, counters: counters, pseudonym: pseudonym,
                        makeDigest: { SHA256Digest() }, makeContentReader: { ContentReader(contentEncoding: $0) }))
            }
        } catch {
            throw GatewayError("can't make a forwarder: \(error)")
        }
        self.environments = environments
        feed = configuration.admin != nil || configuration.tracing.eventsFile != nil ? ExchangeFeed() : nil
        surroundings = Composition.Surroundings(
            log: log, workers: count, secrets: configuration.admin == nil ? [] : [adminKey], feed: feed)
        current = Mutex(try Composition(configuration, replacing: nil, in: surroundings))
    }

    var present: Composition { current.withLock { $0 } }
    var life: Life { stage.withLock { $0 } }
    var openExchanges: Int { counters.reduce(0) { $0 + $1.open } }
    var serverStatistics: ServerStatistics? { server.withLock { $0 }?.statistics }
    var openAdminConnections: Int { admin.withLock { $0 }?.openConnections ?? 0 }

    var boundAddress: String? { life.boundAddress }

    /// Runs one request without a connection, on a worker of its own choice.
    func run(
        _ head: RequestHead, _ body: [UInt8], _ plan: PipelinePlan, localPort: UInt16,
        completion: @escaping @Sendable (ReplayAnswer) -> Void
    ) {
        let index = Int.random(in: workers.indices)
        let call = ReplayCall(
            head, body: body, plan: plan, environment: environments[index], on: workers[index], localPort: localPort, completion: completion
        )
        workers[index].submit { call.start() }
    }

    /// nil without an admin listener.
    package var adminAccess: AdminAccess? {
        guard let address = admin.withLock({ $0 })?.address else { return nil }
        return AdminAccess(address: address, key: adminKey, isKeyConfigured: started.adminKey != nil)
    }

    /// Opens the listeners and begins to serve. The bound addresses, as text.
    package func start() throws(GatewayError) -> [String] {
        let composition = current.withLock { $0 }
        let server = Server(
            workers: workers, limits: composition.configuration.limits, acceptor: self,
            answersHalfClosed: composition.configuration.listen.halfClose == .keep)
        server.admission = composition.admission
        DispatchTimers.prepare()
        composition.joinSessions()
        try watchEvents(composition.configuration.tracing.eventsFile)
        for worker in workers { worker.start() }
        if let settings = composition.configuration.admin {
            let side = try AdminSide(
                settings, key: adminKey, limits: composition.configuration.limits, workerIndex: workers.count, control: self,
                scrub: { [weak self] in self?.present.plan.redactor.scrub(&$0) })
            admin.withLock { $0 = side }
        }
        do {
            let address = try server.listen(composition.configuration.listen)
            self.server.withLock { $0 = server }
            stage.withLock { $0.boundAddress = address }
            composition.watchSources()
            return [address]
        } catch {
            throw GatewayError("can't listen on \(Self.text(composition.configuration.listen.address)): \(error)")
        }
    }

    /// Takes a new configuration whole, or nothing of it. Returns what stays as it is until a restart: addresses, workers, the admin key.
    @discardableResult
    package func reload(_ configuration: GatewayConfiguration) throws(GatewayError) -> [String] {
        do throws(GatewayError) {
            let notes = needsRestart(configuration)
            for note in notes { log.warning("reload: \(note)") }
            try take(configuration)
            stage.withLock { life in
                life.reloadsDone += 1
                life.isLastReloadTaken = true
            }
            return notes
        } catch {
            reloadRefused()
            throw error
        }
    }

    /// A configuration that never came to be one.
    package func reloadRefused() {
        stage.withLock { life in
            life.reloadsRefused += 1
            life.isLastReloadTaken = false
        }
    }

    private func take(_ configuration: GatewayConfiguration) throws(GatewayError) {
        let old = current.withLock { $0 }
        let new = try Composition(configuration, replacing: old, in: surroundings)
        try watchEvents(configuration.tracing.eventsFile)
        new.joinSessions()
        current.withLock { $0 = new }
        reloads.add(1, ordering: .releasing)
        // A worker without requests would keep the old plan alive.
        for (index, worker) in workers.enumerated() { worker.submit { [self] in environments[index].forgetPlan() } }
        server.withLock { server in
            server?.limits = configuration.limits
            server?.admission = new.admission
        }
        old.retire(except: new)
        new.watchSources()
        if let hosts = configuration.admin?.hosts { admin.withLock { $0 }?.replaceHosts(hosts) }
        if let audit = new.audit, audit === old.audit, configuration.audit?.sink == old.configuration.audit?.sink { audit.reopen() }
    }

    /// Opens the file of events, anew on a reload: it may have been moved away.
    private func watchEvents(_ path: String?) throws(GatewayError) {
        var new: MonitorWriter?
        if let path {
            if let feed {
                new = try MonitorWriter(path: path, feed: feed, log: log)
            } else {
                log.warning("tracing.events can't begin on reload")
            }
        }
        let old = monitor.withLock { monitor in
            defer { monitor = new }
            return monitor
        }
        old?.close()
    }

    /// Opens the audit file anew, for a file that was moved away.
    package func reopenAudit() { current.withLock { $0 }.audit?.reopen() }

    /// Refuses new connections, lets open exchanges end, then calls `completion` once, at the latest after the deadline.
    package func drain(completion: @escaping @Sendable () -> Void) {
        stage.withLock { $0.isDraining = true }
        guard let server = server.withLock({ $0 }) else { return completion() }
        let once = Once(completion)
        server.beginDrain { once.run() }
        let milliseconds = Int(current.withLock { $0.configuration.limits.drainTimeoutMilliseconds })
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { @Sendable in once.run() }
    }

    /// Cuts what is left, writes what the audit still holds and lets go of everything. Nothing can be served afterwards.
    package func close() {
        // The server holds the gateway as its acceptor.
        let server = server.withLock { server in
            defer { server = nil }
            return server
        }
        server?.forceClose()
        let side = admin.withLock { side in
            defer { side = nil }
            return side
        }
        // Streams give what is left and end.
        feed?.close()
        side?.close()
        let group = DispatchGroup()
        for (index, worker) in workers.enumerated() {
            group.enter()
            worker.submit { [self] in
                (environments[index].forwarder as? CurlForwarder)?.close()
                worker.stop()
                group.leave()
            }
        }
        _ = group.wait(timeout: .now() + Self.closeTimeout)
        // A worker that is stuck must not hold up the end.
        for worker in workers { worker.waitUntilStopped(Self.closeTimeout) }
        current.withLock { $0 }.close()
        monitor.withLock { $0 }?.close()
    }

    /// How long the workers may take to cut their connections before the audit is closed without them.
    private static let closeTimeout = DispatchTimeInterval.seconds(2)

    // MARK: RequestAcceptor

    package func consumer(for arrival: RequestArrival, in context: ConnectionContext) -> any RequestConsumer {
        let environment = environments[context.workerIndex]
        let plan = plan(for: environment)
        switch arrival {
        case .request(let head): return Exchange(head: head, plan: plan, environment: environment, context: context)
        case .refused(let reason, let status, let detail):
            return RefusedExchange(
                reason, status: status, detail: detail,
                exchange: Exchange(head: nil, plan: plan, environment: environment, context: context))
        }
    }

    /// The present plan. Each worker remembers it, and asks for it again only after a reload.
    private func plan(for environment: ExchangeEnvironment) -> PipelinePlan {
        let number = reloads.load(ordering: .acquiring)
        if let plan = environment.plan(of: number) { return plan }
        let plan = current.withLock { $0.plan }
        environment.remember(plan, of: number)
        return plan
    }

    // MARK: Parts

    private static func openSpill(_ directory: String) -> SpillFile? {
        guard let file = TemporaryFile(directory: directory) else { return nil }
        return SpillFile(append: { file.append($0) }, read: { file.read(at: $0, into: $1) }, close: { file.close() })
    }

    private static func decode(
        _ body: UnsafeRawBufferPointer, _ contentEncoding: UnsafeRawBufferPointer, _ bytesMax: Int
    ) -> DecodedContent {
        switch ContentDecoder.decode(body, contentEncoding: contentEncoding, bytesMax: bytesMax, padding: JSONScanner.padding) {
        case .identity: .decoded(Array(body))
        case .decoded(let bytes): .decoded(bytes)
        case .tooLarge: .tooLarge
        case .broken, .unknownCoding: .broken
        }
    }

    private static func temporaryDirectory() -> String {
        guard let value = getenv("TMPDIR") else { return "/tmp" }
        return String(cString: value)
    }

    package static func text(_ address: ListenSettings.Address) -> String {
        switch address {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

extension ContentReader: ContentReading {}

/// Runs its work the first time only.
private final class Once: Sendable {
    private let work: Mutex<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) { self.work = Mutex(work) }

    func run() {
        let work = work.withLock { work in
            defer { work = nil }
            return work
        }
        work?()
    }
}

extension SHA256Digest: BodyDigest {}
