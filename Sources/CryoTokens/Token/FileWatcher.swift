// Notices that a token's file was changed or replaced, and hands over the new token.
// Domain: cold (its own serial queue)

package import CryoPipeline
import CryoSync
import Dispatch
import Glibc

/// Looks at the file once a second, through symbolic links: that also sees an atomic rename and a mounted secret whose
/// directory is swapped, which a watch on the inode would lose.
package final class FileWatcher: Sendable {
    package static let intervalMilliseconds = 1000

    private struct Signature: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var changedSeconds: Int
        var changedNanoseconds: Int
        var modifiedSeconds: Int
        var modifiedNanoseconds: Int
    }

    private struct State {
        /// Counts starts and stops: a look belongs to the start it came from.
        var generation: UInt64 = 0
        var isRunning = false
        var seen: Signature?
    }

    private let path: String
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let onChange: @Sendable (NewCredential) -> Void

    /// `onChange` gets the token found at the start too, and then each one that replaces it. A file that is missing,
    /// empty or half-written changes nothing: the token in use stays.
    package init(path: String, onChange: @escaping @Sendable (NewCredential) -> Void) {
        self.path = path
        self.onChange = onChange
        queue = DispatchQueue(label: "cryonet.token.watcher")
    }

    package func start() {
        let generation = state.withLock { state -> UInt64? in
            guard !state.isRunning else { return nil }
            state.isRunning = true
            state.generation += 1
            return state.generation
        }
        guard let generation else { return }
        queue.async { [weak self] in self?.look(generation) }
    }

    /// After it returns no new look begins; one that runs may still deliver.
    package func stop() {
        state.withLock { state in
            state.isRunning = false
            state.generation += 1
        }
    }

    private func look(_ generation: UInt64) {
        guard state.withLock({ $0.isRunning && $0.generation == generation }) else { return }
        check()
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.intervalMilliseconds)) { [weak self] in self?.look(generation) }
    }

    /// One look. The state of the file is taken before it is read, so a change in between is found by the next look.
    func check() {
        guard let signature = signature() else { return }
        let isNew = state.withLock { state in
            if state.seen == signature { return false }
            state.seen = signature
            return true
        }
        guard isNew, case .success(let token) = SecretResolver.file(path) else { return }
        onChange(NewCredential(token: token))
    }

    private func signature() -> Signature? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Signature(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
            changedSeconds: status.st_ctim.tv_sec, changedNanoseconds: status.st_ctim.tv_nsec,
            modifiedSeconds: status.st_mtim.tv_sec, modifiedNanoseconds: status.st_mtim.tv_nsec)
    }
}
