// Reads a token store again and again on its own queue.

import CryoPipeline
import CryoSync
import CryoTokens
import Dispatch

final class Reader: Sendable {
    private struct State {
        var reads = 0
        var torn = 0
        var isStopping = false
    }

    private let store: TokenStoreFile
    private let queue = DispatchQueue(label: "test.reader")
    private let state = Mutex(State())

    init(_ store: TokenStoreFile) { self.store = store }

    func start() {
        queue.async { [self] in
            repeat {
                var isWhole = false
                if case .pair(let pair, _) = store.read(), let refreshToken = pair.refreshToken {
                    isWhole = pair.token.text.dropFirst("token-".count) == refreshToken.text.dropFirst("refresh-".count)
                }
                state.withLock { state in
                    state.reads += 1
                    if !isWhole { state.torn += 1 }
                }
            } while !state.withLock({ $0.isStopping })
        }
    }

    func stop() -> (reads: Int, torn: Int) {
        state.withLock { $0.isStopping = true }
        queue.sync {}
        return state.withLock { ($0.reads, $0.torn) }
    }
}
