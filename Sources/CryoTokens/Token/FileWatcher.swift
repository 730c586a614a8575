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
        /// The file whose content was dealt with.
        var seen: Signature?
        /// A file that is being written where it lies; taken once a look finds it as the look before did.
        var unsettled: Signature?
    }

    private let producer: FileTokenProducer
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let onChange: @Sendable (NewCredential) -> Void

    /// `onChange` gets the token found at the start too, and then each one that replaces it. A file that is missing,
    /// empty or half-written changes nothing: the token in use stays.
    package init(
        path: String, refresh: RefreshSettings = RefreshSettings(), onChange: @escaping @Sendable (NewCredential) -> Void
    ) {
        producer = FileTokenProducer(path: path, lifetime: TokenLifetime(refresh))
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

    /// One look. The state of the file is taken before and after it is read: a change in between leaves it to the next look.
    func check() {
        guard let signature = signature(), isSettled(signature) else { return }
        let result = producer.read()
        guard self.signature() == signature else { return }
        state.withLock { $0.seen = signature }
        if case .success(let new) = result { onChange(new.credential) }
    }

    /// True for a file that is new here: one that was renamed into place is whole. One that is written where it lies is so once
    /// nothing has changed for the time between two looks.
    private func isSettled(_ signature: Signature) -> Bool {
        state.withLock { state in
            guard let seen = state.seen, seen != signature else { return state.seen == nil }
            guard seen.inode == signature.inode, seen.device == signature.device else { return true }
            if state.unsettled == signature { return true }
            state.unsettled = signature
            return false
        }
    }

    private func signature() -> Signature? {
        var status = stat()
        guard stat(producer.path, &status) == 0 else { return nil }
        return Signature(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
            changedSeconds: status.st_ctim.tv_sec, changedNanoseconds: status.st_ctim.tv_nsec,
            modifiedSeconds: status.st_mtim.tv_sec, modifiedNanoseconds: status.st_mtim.tv_nsec)
    }
}
