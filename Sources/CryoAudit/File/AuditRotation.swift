// When an audit file is complete, what it is called then, and which older files are kept.
// Domain: cold

import CryoIO
import CryoPipeline
import Dispatch
import Glibc

struct AuditRotation: Sendable {
    let settings: AuditSinkSettings.Rotation

    /// Whether a file that has so much, and began then, is complete before the batch that comes now.
    func isDue(
        size: UInt64, records: UInt64, batchBytes: Int, batchRecords: Int, begunUnixSeconds: Int64, nowUnixSeconds: Int64
    ) -> Bool {
        guard size > 0 else { return false }
        if settings.fileBytes > 0, size &+ UInt64(batchBytes) > settings.fileBytes { return true }
        if settings.fileRecords > 0, records > 0, records &+ UInt64(batchRecords) > settings.fileRecords { return true }
        let length: Int64
        switch settings.every {
        case .never: return false
        case .hour: length = 3600
        case .day: length = 86_400
        }
        // A clock that jumps back makes no period end.
        return nowUnixSeconds / length > begunUnixSeconds / length
    }
}

/// The names beside the file: `audit.jsonl` becomes `audit-2026-11-30T07-00-00.123.jsonl`, with `.gz` once it is compressed, as Caddy
/// names its own. By the alphabet they are in the order of their making.
struct AuditNames: Sendable {
    let path: String
    let directory: String
    private let stem: String
    private let suffix: String
    private static let stampCount = 23

    init(_ path: String) {
        self.path = path
        let slash = path.lastIndex(of: "/")
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        if let dot = name.lastIndex(of: "."), dot > name.startIndex {
            stem = String(name[..<dot])
            suffix = String(name[dot...])
        } else {
            stem = String(name)
            suffix = ""
        }
    }

    /// A path that is free: a millisecond later each time one is taken, or by the alphabet before what is there already, which happens
    /// when a clock jumps back.
    func rotatedPath(unixMicroseconds: Int64) -> String {
        var milliseconds = max(0, unixMicroseconds / 1000)
        if let newest = rotated.last.flatMap(Self.stamp), Self.text(milliseconds) <= newest { milliseconds = Self.milliseconds(newest) + 1 }
        while true {
            let candidate = "\(directory)/\(stem)-\(Self.text(milliseconds))\(suffix)"
            if access(candidate, F_OK) != 0, access(candidate + ".gz", F_OK) != 0 { return candidate }
            milliseconds += 1
        }
    }

    /// The rotated files that are there, oldest first.
    var rotated: [String] {
        names { name in
            let bare = name.hasSuffix(".gz") ? name.dropLast(3) : name[...]
            guard bare.hasPrefix("\(stem)-"), bare.hasSuffix(suffix) else { return false }
            let stamp = bare.dropFirst(stem.utf8.count + 1).dropLast(suffix.utf8.count)
            return stamp.utf8.count == Self.stampCount && Self.isStamp(String(stamp))
        }
    }

    /// Those that are not there compressed as well: an end may come before the other one is removed.
    var unique: [String] {
        let all = rotated
        return all.filter { !all.contains($0 + ".gz") }
    }

    /// What a compression that was cut off left behind.
    var leftovers: [String] { names { $0.hasPrefix("\(stem)-") && $0.hasSuffix("\(suffix).gz.new") } }

    private func names(_ isWanted: (String) -> Bool) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var found: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if isWanted(name) { found.append(name) }
        }
        return found.sorted()
    }

    func path(of name: String) -> String { "\(directory)/\(name)" }

    // MARK: Stamps

    /// `2026-11-30T07-00-00.123`
    private static func text(_ milliseconds: Int64) -> String {
        let full = RFC3339.text(unixMicroseconds: milliseconds * 1000).prefix(stampCount).map { $0 == 0x3A ? 0x2D : $0 }
        return String(decoding: full, as: UTF8.self)
    }

    private static func isStamp(_ text: String) -> Bool {
        zip(text.utf8, "0000-00-00T00-00-00.000".utf8).allSatisfy { $1 == 0x30 ? $0 &- 0x30 < 10 : $0 == $1 }
    }

    private static func stamp(_ name: String) -> String? {
        let bare = Array((name.hasSuffix(".gz") ? name.dropLast(3) : name[...]).utf8)
        for start in stride(from: bare.count - stampCount, through: 0, by: -1) {
            let text = String(decoding: bare[start..<start + stampCount], as: UTF8.self)
            if isStamp(text) { return text }
        }
        return nil
    }

    static func milliseconds(_ stamp: String) -> Int64 {
        let numbers = stamp.utf8.split { $0 &- 0x30 >= 10 }.compactMap { Int64(String(decoding: Array($0), as: UTF8.self)) }
        guard numbers.count == 7 else { return 0 }
        var parts = tm()
        parts.tm_year = Int32(clamping: numbers[0] - 1900)
        parts.tm_mon = Int32(clamping: numbers[1] - 1)
        parts.tm_mday = Int32(clamping: numbers[2])
        parts.tm_hour = Int32(clamping: numbers[3])
        parts.tm_min = Int32(clamping: numbers[4])
        parts.tm_sec = Int32(clamping: numbers[5])
        return Int64(timegm(&parts)) * 1000 + numbers[6]
    }

    /// When a rotated file was complete.
    func unixSeconds(of name: String) -> Int64 { Self.stamp(name).map { Self.milliseconds($0) / 1000 } ?? 0 }
}

/// Compresses rotated files and removes the oldest, on a queue of its own: a large file takes seconds.
final class AuditSweeper: Sendable {
    private let names: AuditNames
    private let settings: AuditSinkSettings.Rotation
    private let warn: @Sendable (String) -> Void
    private let unixMicroseconds: @Sendable () -> Int64
    private let queue = DispatchQueue(label: "cryonet.audit.rotated", qos: .utility)

    init(
        _ names: AuditNames, _ settings: AuditSinkSettings.Rotation, unixMicroseconds: @escaping @Sendable () -> Int64,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.names = names
        self.settings = settings
        self.unixMicroseconds = unixMicroseconds
        self.warn = warn
    }

    func sweep() { queue.async { self.sweepNow() } }

    /// Returns when what was asked for before is done.
    func wait() { queue.sync {} }

    private func sweepNow() {
        for name in names.leftovers { unlink(names.path(of: name)) }
        var kept = names.rotated
        if settings.keepFiles > 0, kept.count > settings.keepFiles {
            for name in kept.prefix(kept.count - settings.keepFiles) { unlink(names.path(of: name)) }
            kept.removeFirst(kept.count - settings.keepFiles)
        }
        if settings.keepDays > 0 {
            let oldest = unixMicroseconds() / 1_000_000 - Int64(settings.keepDays) * 86_400
            for name in kept where names.unixSeconds(of: name) < oldest { unlink(names.path(of: name)) }
            kept.removeAll { names.unixSeconds(of: $0) < oldest }
        }
        guard settings.isCompressed else { return }
        for name in kept where !name.hasSuffix(".gz") {
            do throws(SystemError) {
                try Self.compress(names.path(of: name))
            } catch {
                warn("the rotated audit file \(names.path(of: name)) can't be compressed and stays as it is: \(error)")
                return
            }
        }
    }

    /// The compressed file is complete and on disk before the other goes.
    private static func compress(_ path: String) throws(SystemError) {
        let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard source >= 0 else { throw SystemError("open") }
        defer { close(source) }
        let aside = path + ".gz.new"
        let target = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { throw SystemError("open") }
        defer { close(target) }
        do throws(SystemError) {
            try GzipFile.copy(source, compressedTo: target)
            guard fsync(target) == 0 else { throw SystemError("fsync") }
            guard rename(aside, path + ".gz") == 0 else { throw SystemError("rename") }
        } catch {
            unlink(aside)
            throw error
        }
        unlink(path)
    }
}
