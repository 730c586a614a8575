// How the hooks of tokens and policies become queues with something behind them.
// Domain: cold

import CryoConfig
import CryoHooks
import CryoIO
import CryoPipeline
import CryoTokens

extension Composition {
    /// A hook that an older composition has as well is taken over with what it holds.
    static func hookTable(
        _ configuration: GatewayConfiguration, replacing old: [HookOwner: [HookQueue]], log: Log
    ) throws(GatewayError) -> [HookOwner: [HookQueue]] {
        var table: [HookOwner: [HookQueue]] = [:]
        let configured =
            configuration.tokens.map { (HookOwner.token($0.name), $0.hooks) }
            + configuration.policies.map { (HookOwner.policy($0.name), $0.hooks) }
        for (owner, hooks) in configured {
            for settings in hooks {
                let queue = try hook(settings, of: owner, replacing: old[owner] ?? [], log)
                table[owner, default: []].append(queue)
            }
        }
        return table
    }

    private static func hook(
        _ settings: HookSettings, of owner: HookOwner, replacing old: [HookQueue], _ log: Log
    ) throws(GatewayError) -> HookQueue {
        var secret: Secret?
        if case .webhook(let webhook) = settings.target, let reference = webhook.secret {
            switch SecretResolver.resolve(reference) {
            case .success(let resolved): secret = resolved
            case .failure(let problem): throw GatewayError("hook of \(owner.text): secret: \(problem)")
            }
        }
        let fingerprint = "\(settings) \(secret.map { $0.fingerprint } ?? 0)"
        if let same = old.first(where: { $0.fingerprint == fingerprint }) { return same }
        return HookQueue(
            name: owner.text, events: settings.events, fingerprint: fingerprint, warn: { log.warning($0) },
            deliver: deliverer(settings, secret))
    }

    private static func deliverer(_ settings: HookSettings, _ secret: Secret?) -> @Sendable (HookEvent) -> HookFailure? {
        switch settings.target {
        case .webhook(let target):
            let webhook = Webhook(target, secret: secret, timeoutMilliseconds: settings.timeoutMilliseconds)
            return { event in
                let now = Clock.unixMicroseconds()
                let id = ExchangeID.make(unixMicroseconds: now, randomHigh: .random(in: 0 ... .max), randomLow: .random(in: 0 ... .max))
                return webhook.deliver(event, unixSeconds: now / 1_000_000, id: String(decoding: id, as: UTF8.self))
            }
        case .command(let arguments):
            let command = HookCommand(arguments, timeoutMilliseconds: settings.timeoutMilliseconds)
            return { command.run($0) }
        }
    }
}
