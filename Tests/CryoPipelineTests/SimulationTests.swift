// Many exchanges at once under chance that can be repeated: CRYONET_SIM_SEED and CRYONET_SIM_EXCHANGES.
// Domain: cold

import CryoSync
import Foundation
import Testing

@testable import CryoPipeline

@Suite("The simulation")
struct SimulationTests {
    private static func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }

    private static var exchangesDefault: UInt64 {
        #if DEBUG
            20_000
        #else
            100_000
        #endif
    }

    @Test(
        """
        under any mixture of failures each exchange has one end, one record, one auth retry at most, its own login's living token and no \
        other; no refresh token is presented twice, each session ends once, and no secret gets out
        """)
    func invariants() {
        let seed = Self.number("CRYONET_SIM_SEED") ?? UInt64.random(in: 1...(.max >> 1))
        let count = Int(Self.number("CRYONET_SIM_EXCHANGES") ?? Self.exchangesDefault)
        print("simulation: CRYONET_SIM_SEED=\(seed) CRYONET_SIM_EXCHANGES=\(count)")
        let world = SimulatedWorld(seed: seed)
        world.run(exchanges: count)
        print(
            "simulation: statuses \(world.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }), attempts with \(world.injected)"
        )
        print(
            "simulation: refreshes \(world.tokens.map { "\($0.name): \($0.refresher.calls)" }), sessions ended \(world.tokens.map(\.ended.count)), hooks told of \(world.hooks.failures.load(ordering: .relaxed)) failures"
        )
        print("simulation: reasons \(world.reasons.map { "\(String(decoding: $0.key, as: UTF8.self)): \($0.value)" }.sorted())")

        #expect(world.problems.isEmpty, "seed \(seed): \(world.problems)")
        #expect(world.wasEnded == count, "seed \(seed): an exchange has no end")
        let records = world.audit.all
        #expect(records.count == count && records.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        #expect(world.audit.leaks.load(ordering: .relaxed) == 0, "seed \(seed): a secret in the audit")
        for token in world.tokens {
            #expect(token.refresher.openMax <= 1 && token.refresher.calls > 0, "seed \(seed): \(token.name)")
            #expect(token.ended.values.allSatisfy { $0 == 1 }, "seed \(seed): \(token.name): a session ended more than once")
            let byPolicy = world.hooks.sessions.keys.filter { token.ended[$0] != nil }.count
            #expect(token.ended.count == token.sessionsEndedHere + byPolicy, "seed \(seed): \(token.name): an end nobody caused")
        }
        #expect(world.hooks.sessions.values.allSatisfy { $0 == 1 }, "seed \(seed): hooks heard of one end twice")
        #expect(
            world.hooks.failures.load(ordering: .relaxed) == world.reasons.values.reduce(0, +),
            "seed \(seed): hooks heard of other failures")
        #expect(world.hooks.leaks.load(ordering: .relaxed) == 0, "seed \(seed): a secret in a hook")
        #expect(world.spill.open == 0, "seed \(seed): a spill file is open")
        for worker in world.workers {
            #expect(worker.counters.open == 0 && worker.forwarder.open == 0 && worker.forwarder.clients.isEmpty, "seed \(seed)")
        }
        #expect(world.statuses.keys.contains(200) && world.statuses.keys.contains(401) && world.statuses.keys.contains(504), "seed \(seed)")
    }
}
