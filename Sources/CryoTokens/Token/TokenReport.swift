// What token sources and stores tell about trouble that does not end a refresh. Holds no secret.
// Domain: pure

package enum TokenReport: Sendable, Equatable, CustomStringConvertible {
    /// The source has no token now; exchanges learn it from their own failure.
    case sourceUnavailable(detail: String)
    /// The file could not be written: the token lives in memory only, and a restart loses it.
    case storeNotWritten(path: String, cause: String)
    /// What the file held was no pair of ours; nothing was overwritten.
    case storeCorrupt(path: String, keptAs: String, cause: String)
    /// Others may read the file; the next write makes it 0600.
    case storePermissionsWide(path: String, mode: UInt32)
    /// The endpoint refused the stored refresh token for good, so that the next start begins with `initial` again.
    case storeSetAside(path: String, keptAs: String)
    /// After `storeNotWritten`: it works again.
    case storeWritten(path: String)
    /// The process before this one ended while it refreshed the pair that the file holds.
    case storeInterrupted(path: String)
    /// The user logged out before the restart, and `initial` is still the same.
    case storeLoggedOut(path: String)
    /// Said once.
    case storeNotLocked(path: String, cause: String)
    /// Said once; then each gateway refreshes for itself.
    case sharedStoreLost(place: String, cause: String)
    case sharedStoreRegained(place: String)
    case sharedStoreConflict(place: String)

    package var description: String {
        switch self {
        case .storeWritten(let path): "the store \(path) is written again: it holds the new token"
        case .storeInterrupted(let path):
            "the last process ended while it refreshed the pair of \(path): if the endpoint had answered, its refresh token is used up"
        case .storeLoggedOut(let path): "logged out, as \(path) says: initial is not used again until it changes"
        case .storeNotLocked(let path, let cause):
            "the store \(path) can't be locked (\(cause)): if several gateways keep their login there, let them use Redis"
        case .sharedStoreLost(let place, let cause):
            "the shared store \(place) can't be used (\(cause)): this gateway refreshes for itself until it can"
        case .sharedStoreRegained(let place): "the shared store \(place) can be used again"
        case .sharedStoreConflict(let place):
            "another gateway refreshed the same login at the same time: the pair in the shared store \(place) counts"
        case .sourceUnavailable(let detail): "no token: \(detail)"
        case .storeNotWritten(let path, let cause):
            "the store \(path) can't be written (\(cause)): the new token is kept in memory only, a restart loses it"
        case .storeCorrupt(let path, let keptAs, let cause): "the store \(path) is not usable (\(cause)): kept as \(keptAs)"
        case .storePermissionsWide(let path, let mode):
            "the store \(path) has the permissions 0\(String(mode, radix: 8)): others may read it, it should be 0600"
        case .storeSetAside(let path, let keptAs): "the stored refresh token was refused: \(path) is kept as \(keptAs)"
        }
    }
}

/// Why a secret, a file or a store can't be used.
package enum TokenProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case environmentMissing(name: String)
    case environmentUnusable(name: String, cause: String)
    case literalEmpty
    case fileMissing(path: String)
    case fileUnreadable(path: String, cause: String)
    case fileEmpty(path: String)
    case fileUnusable(path: String, cause: String)
    case fileNotRegular(path: String)
    case fileTooLarge(path: String, bytesMax: Int)
    /// A store that can neither be read nor be set aside: starting could lose a login.
    case storeUnreadable(path: String, cause: String)

    package var description: String {
        switch self {
        case .environmentMissing(let name): "the environment variable \(name) is not set or empty"
        case .environmentUnusable(let name, let cause): "the environment variable \(name) \(cause)"
        case .literalEmpty: "the literal is empty"
        case .fileMissing(let path): "there is no file \(path)"
        case .fileUnreadable(let path, let cause): "the file \(path) can't be read: \(cause)"
        case .fileEmpty(let path): "the file \(path) is empty"
        case .fileUnusable(let path, let cause): "the file \(path) \(cause)"
        case .fileNotRegular(let path): "the file \(path) is not a regular file"
        case .fileTooLarge(let path, let bytesMax): "the file \(path) is larger than \(bytesMax) bytes"
        case .storeUnreadable(let path, let cause): "the store \(path) can't be read: \(cause)"
        }
    }

    var outcome: SourceOutcome {
        switch self {
        case .environmentMissing, .environmentUnusable, .literalEmpty: .secretUnavailable
        case .fileMissing: .fileMissing
        case .fileUnreadable, .storeUnreadable: .fileUnreadable
        case .fileEmpty: .fileEmpty
        case .fileUnusable: .tokenUnusable
        case .fileNotRegular: .fileNotRegular
        case .fileTooLarge: .fileTooLarge
        }
    }
}
