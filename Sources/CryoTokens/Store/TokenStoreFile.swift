// Owns the file that keeps a token pair across restarts: `{"version":1,"token":…,"refresh_token":…,"expires_at":…}`, 0600. After a
// logout it says that, and of which `initial`: `{"version":1,"logged_out":{"salt":…,"initial":…}}`.
// Domain: cold
//
// A kill at any moment leaves the old pair or the new one: the new one is written aside in the same directory, synced,
// renamed, and the directory synced. What is there but can't be understood is kept, never overwritten.

package import CryoIO
import CryoJSON
package import CryoPipeline
import Glibc

package enum StoreRead: Sendable {
    case absent
    case pair(NewCredential, mode: UInt32)
    case loggedOut(LogoutMark)
    /// Moved out of the way as `keptAs`.
    case corrupt(cause: String, keptAs: String)
    /// Neither read nor moved.
    case failed(cause: String)
}

/// Why a pair is not on disk.
enum StoreWriteError: Error, CustomStringConvertible {
    case system(SystemError)
    /// There is something at the path that can be neither read nor set aside.
    case occupied(cause: String)

    var description: String {
        switch self {
        case .system(let error): String(describing: error)
        case .occupied(let cause): cause
        }
    }
}

package struct TokenStoreFile: Sendable {
    package static let formatVersion: Int64 = 1
    package static let bytesMax = 262_144
    /// Unusable files kept beside the store; one more can't be set aside.
    package static let keptMax = 100

    package let path: String

    package init(path: String) { self.path = path }

    // MARK: Reading

    package func read() -> StoreRead {
        switch SmallFile.read(path, bytesMax: Self.bytesMax) {
        case .missing: return .absent
        case .failed(let error): return .failed(cause: String(describing: error))
        case .notRegular: return .failed(cause: "it is not a regular file")
        case .tooLarge: return keepAside("larger than \(Self.bytesMax) bytes")
        case .bytes(let bytes, let mode):
            switch Self.parse(bytes) {
            case .success(.pair(let pair)): return .pair(pair, mode: mode)
            case .success(.loggedOut(let mark)): return .loggedOut(mark)
            case .success(.nothing): return .absent
            case .failure(let flaw): return keepAside(flaw.text)
            }
        }
    }

    private struct Flaw: Error { let text: String }

    private static func parse(_ bytes: [UInt8]) -> Result<StoredLogin, Flaw> {
        let paths = [["version"], ["token"], ["refresh_token"], ["expires_at"], ["logged_out", "salt"], ["logged_out", "initial"]]
        guard let members = JSONMembers(bytes, paths: paths.compactMap { JSONPath(segments: $0.map { Array($0.utf8) }) }) else {
            return .failure(Flaw(text: "truncated or not JSON"))
        }
        guard let version = members.integer(0) else { return .failure(Flaw(text: "no version")) }
        guard version == formatVersion else { return .failure(Flaw(text: "version \(version), this program writes \(formatVersion)")) }
        if members.isAbsent(1), let salt = members.code(4), let digest = members.code(5) {
            return LogoutMark(salt: salt, digest: digest).map { .success(.loggedOut($0)) } ?? .failure(Flaw(text: "no mark of a logout"))
        }
        guard let token = members.text(1), SecretResolver.flaw(of: token) == nil else { return .failure(Flaw(text: "no token")) }
        guard members.isAbsent(2) || members.text(2) != nil else { return .failure(Flaw(text: "refresh_token is no text")) }
        guard members.isAbsent(3) || members.integer(3) != nil else { return .failure(Flaw(text: "expires_at is no number")) }
        return .success(
            .pair(NewCredential(token: Secret(token), refreshToken: members.text(2).map { Secret($0) }, expiresAt: members.integer(3))))
    }

    private func keepAside(_ cause: String) -> StoreRead {
        switch setAside(as: "corrupt") {
        case .success(let keptAs): .corrupt(cause: cause, keptAs: keptAs)
        case .failure(let error): .failed(cause: "\(cause), and it can't be set aside: \(error)")
        }
    }

    /// Renames the file to the first free of `PATH.suffix`, `PATH.suffix.1`, …
    package func setAside(as suffix: String) -> Result<String, SystemError> {
        for number in 0..<Self.keptMax {
            let target = "\(path).\(suffix)" + (number == 0 ? "" : ".\(number)")
            // A hard link fails where something is already, a rename would replace it.
            if link(path, target) == 0 {
                guard unlink(path) == 0 else { return .failure(SystemError("unlink")) }
                return .success(target)
            }
            if errno != EEXIST { return .failure(SystemError("link")) }
        }
        return .failure(SystemError("link", code: EEXIST))
    }

    // MARK: Writing

    /// Returns after the pair is on disk.
    package func write(_ pair: NewCredential) throws(SystemError) { try write(Self.text(of: pair)) }

    /// Returns after the logout is on disk: a restart does not log in again with the same `initial`.
    func write(_ mark: LogoutMark) throws(SystemError) { try write(Self.text(of: mark)) }

    private func write(_ text: [UInt8]) throws(SystemError) {
        // The process id keeps two gateways from writing into one temporary file. A leftover of this name is of a
        // process that is gone.
        let temporary = "\(path).\(getpid()).new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError("open") }
        do throws(SystemError) {
            defer { close(descriptor) }
            guard fchmod(descriptor, 0o600) == 0 else { throw SystemError("fchmod") }
            try Self.writeAll(text, to: descriptor)
            guard fsync(descriptor) == 0 else { throw SystemError("fsync") }
            guard rename(temporary, path) == 0 else { throw SystemError("rename") }
        } catch {
            unlink(temporary)
            throw error
        }
        try syncDirectory()
    }

    /// Returns after the file is gone for good. That there is none is no error.
    package func remove() throws(SystemError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw SystemError("unlink") }
        try syncDirectory()
    }

    private static func text(of pair: NewCredential) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("version", formatVersion)
        pair.token.withBytes { token in token.withUnsafeBytes { writer.field("token", bytes: $0) } }
        if let refreshToken = pair.refreshToken {
            refreshToken.withBytes { token in token.withUnsafeBytes { writer.field("refresh_token", bytes: $0) } }
        } else {
            writer.nullField("refresh_token")
        }
        if let expiresAt = pair.expiresAt { writer.field("expires_at", expiresAt) } else { writer.nullField("expires_at") }
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    private static func text(of mark: LogoutMark) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("version", formatVersion)
        writer.key("logged_out")
        writer.beginObject()
        writer.field("salt", mark.saltText)
        writer.field("initial", mark.digestText)
        writer.endObject()
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError("write") }
            rest = rest.dropFirst(count)
        }
    }

    /// Removes what processes that are gone left half written: it may hold secrets. Others' files stay.
    func removeLeftovers() {
        guard let stream = opendir(directory) else { return }
        defer { closedir(stream) }
        let prefix = path.split(separator: "/").last.map { "\($0)." } ?? ""
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix(prefix), name.hasSuffix(".new"), let process = pid_t(name.dropFirst(prefix.count).dropLast(4)) else {
                continue
            }
            if process > 0, process != getpid(), kill(process, 0) != 0, errno == ESRCH { unlink("\(directory)/\(name)") }
        }
    }

    private var directory: String { path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "." }

    /// Without it the rename itself may be lost with the power.
    private func syncDirectory() throws(SystemError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open directory") }
        defer { close(descriptor) }
        // Some file systems can't sync a directory and say EINVAL: there is nothing more to be done on them.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw SystemError("fsync directory") }
    }
}
