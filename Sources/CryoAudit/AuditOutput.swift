// What the writer's queue owns: the file, its chain, its rotation. Takes batches of lines and says how many are in the file.
// Domain: cold (the writer's queue)

import CryoIO
import CryoJSON
import CryoPipeline
import Glibc

struct AuditOutput: ~Copyable {
    /// How one batch went. Only records of exchanges are counted.
    struct Outcome {
        var written = 0
        /// Not all of it is in the file, or not as surely as was asked for.
        var failure: SystemError?
        /// The file could not be renamed or opened anew: nothing is lost by that.
        var trouble: SystemError?
    }

    private static let checkNanoseconds: UInt64 = 1_000_000_000

    private let path: String
    private let settings: AuditSinkSettings
    private let system: AuditSystem
    private let key: CheckpointKey?
    private let rotation: AuditRotation
    private let sweeper: AuditSweeper
    private let names: AuditNames
    private let copy: AuditCopy?
    private var file: AuditFile
    private var chain: AuditChain?
    private var sealed = TextBuffer()
    /// Exchanges that have no record, not yet told in the file.
    private var untold: UInt64 = 0
    private var sinceCheckpoint: UInt64 = 0
    private var checkpointAt: UInt64
    private var checkedAt: UInt64
    private var syncedAt: UInt64
    private var records: UInt64 = 0
    private var begunUnixSeconds: Int64
    private var rotatesAfter: UInt64 = 0
    private var isLow = false
    private var isUnsynced = false

    init(path: String, settings: AuditSinkSettings, system: AuditSystem, warn: @escaping @Sendable (String) -> Void) throws(AuditError) {
        self.path = path
        self.settings = settings
        self.system = system
        names = AuditNames(path)
        rotation = AuditRotation(settings: settings.rotation)
        sweeper = AuditSweeper(names, settings.rotation, unixMicroseconds: system.unixMicroseconds, warn: warn)
        copy = AuditCopy(settings.copy, syslogPath: settings.syslogPath, warn: warn)
        let (key, hasher) = try Self.chainParts(settings.chain)
        let opened = try Self.open(path, system, isChained: settings.chain.isOn)
        // Not before it is locked: the process before may be writing its last record.
        let tail = settings.chain.isOn ? AuditTail(ofFile: path) : AuditTail()
        let previous = opened.size == 0 && settings.chain.isOn ? Self.headBeforeFile(path, names) : tail.head
        self.key = key
        chain = hasher.map { AuditChain(after: previous ?? ChainHead(), hasher: $0) }
        let now = system.monotonic()
        (checkedAt, checkpointAt, syncedAt) = (now, now, now)
        let unixSeconds = system.unixMicroseconds() / 1_000_000
        // A file that was begun yesterday is complete, though this process has just begun.
        begunUnixSeconds = min(unixSeconds, opened.modifiedUnixSeconds ?? unixSeconds)
        file = opened
        if settings.rotation.isOn { sweeper.sweep() }
        // A disk that is full already says so with the first records.
        _ = append(.opened(.start, previous: previous, tornBytes: tail.tornBytes, key: key?.publicKey))
    }

    private static func chainParts(_ settings: AuditSinkSettings.Chain) throws(AuditError) -> (CheckpointKey?, ChainHasher?) {
        guard settings.isOn else { return (nil, nil) }
        guard let hasher = ChainHasher() else { throw AuditError("OpenSSL has no SHA-256") }
        do throws(CheckpointKeyError) {
            return (try settings.keyFile.map { path throws(CheckpointKeyError) in try CheckpointKey.open(path) }, hasher)
        } catch {
            throw AuditError(String(describing: error))
        }
    }

    private static func open(_ path: String, _ system: AuditSystem, isChained: Bool) throws(AuditError) -> AuditFile {
        do throws(SystemError) {
            let file = try AuditFile(path: path, system: system)
            if !isChained || file.lock() { return file }
        } catch {
            throw AuditError("can't open the audit file \(path): \(error)")
        }
        throw AuditError("the audit file \(path) is written by another gateway")
    }

    /// The file was moved away while nobody wrote: by us, or as logrotate names what it moves.
    private static func headBeforeFile(_ path: String, _ names: AuditNames) -> ChainHead? {
        if let newest = names.rotated.last.map(names.path(of:)) {
            return newest.hasSuffix(".gz") ? AuditTail(ofCompressed: newest).head : AuditTail(ofFile: newest).head
        }
        return AuditTail(ofFile: path + ".1").head
    }

    // MARK: Batches

    /// `batch` is so many lines, each with its end; `lost` exchanges before it have no record. What is not written comes again if the caller
    /// retains it.
    mutating func write(_ batch: UnsafeRawBufferPointer, lines: Int, lost: UInt64, retains: Bool = false) -> Outcome {
        var outcome = Outcome()
        untold &+= lost
        outcome.trouble = look(batchBytes: batch.count, batchRecords: lines)
        if isLow {
            if !retains { untold &+= UInt64(lines) }
            outcome.failure = SystemError("min_free_bytes", code: ENOSPC)
            if !retains { copy?.take(batch) }
            return outcome
        }
        let written = chain == nil ? file.write(batch, lines: lines) : writeSealed(batch, lines: lines)
        let tellsLoss = chain != nil && untold > 0
        outcome.written = max(0, min(lines, written.lines - (tellsLoss ? 1 : 0)))
        outcome.failure = written.failure
        if tellsLoss, written.lines > 0 { untold = 0 }
        if !retains { untold &+= UInt64(lines - outcome.written) }
        records &+= UInt64(outcome.written)
        sinceCheckpoint &+= UInt64(outcome.written)
        passOn(batch, written, records: outcome.written, retains: retains)
        if outcome.failure == nil { outcome.failure = finishBatch() }
        return outcome
    }

    private mutating func writeSealed(_ batch: UnsafeRawBufferPointer, lines: Int) -> AuditFile.Written {
        guard var chain else { return AuditFile.Written() }
        let before = chain.head
        sealed.removeAll()
        sealed.reserve(batch.count + (lines + 1) * Self.sealBytes)
        if untold > 0 {
            let line = AuditControl.lost(records: untold).line(unixMicroseconds: system.unixMicroseconds())
            line.withUnsafeBytes { chain.seal($0, into: &sealed) }
        }
        var rest = batch
        var count = 0
        while let end = rest.firstLineEnd {
            chain.seal(UnsafeRawBufferPointer(rebasing: rest[..<end]), into: &sealed)
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            count += 1
            if count % Self.turnLines == 0 { sched_yield() }
        }
        let sealedLines = lines + (untold > 0 ? 1 : 0)
        let written = sealed.withBytes { file.write($0, lines: sealedLines) }
        if written.count < sealed.count { chain.goBack(to: sealed.withBytes { Self.head(of: $0, upTo: written.count) } ?? before) }
        self.chain = chain
        return written
    }

    /// After so many lines a worker on the same CPU gets its turn: the scheduler would let it wait for the whole batch.
    private static let turnLines = 16
    /// About what the chain adds to a line.
    private static let sealBytes = 128

    /// Of the last line that ends there.
    private static func head(of lines: UnsafeRawBufferPointer, upTo count: Int) -> ChainHead? {
        guard count > 0 else { return nil }
        let start = lines[..<(count - 1)].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return ChainLine(UnsafeRawBufferPointer(rebasing: lines[start..<(count - 1)]))?.head
    }

    /// The other sink gets what is in the file as it is there, and what is not as it came.
    private func passOn(_ batch: UnsafeRawBufferPointer, _ written: AuditFile.Written, records: Int, retains: Bool) {
        guard let copy else { return }
        guard chain != nil else { return copy.take(UnsafeRawBufferPointer(rebasing: batch[..<(retains ? written.count : batch.count)])) }
        sealed.withBytes { copy.take(UnsafeRawBufferPointer(rebasing: $0[..<written.count])) }
        if written.count == sealed.count || retains { return }
        var rest = batch
        for _ in 0..<records {
            guard let end = rest.firstLineEnd else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
        }
        copy.take(rest)
    }

    private mutating func finishBatch() -> SystemError? {
        let now = system.monotonic()
        if key != nil, sinceCheckpoint >= settings.chain.checkpointRecords { checkpoint() }
        isUnsynced = settings.sync == .interval
        guard settings.sync == .always || (settings.sync == .interval && now >= syncedAt &+ Self.checkNanoseconds) else { return nil }
        return sync()
    }

    private mutating func sync() -> SystemError? {
        syncedAt = system.monotonic()
        isUnsynced = false
        do throws(SystemError) { try file.sync() } catch { return error }
        return nil
    }

    // MARK: Control records

    /// False when the file does not take it.
    private mutating func append(_ control: AuditControl) -> Bool {
        guard var chain else { return false }
        let before = chain.head
        var line = TextBuffer()
        control.line(unixMicroseconds: system.unixMicroseconds()).withUnsafeBytes { chain.seal($0, into: &line) }
        let written = line.withBytes { file.write($0, lines: 1) }
        if written.lines == 0 { chain.goBack(to: before) } else { line.withBytes { copy?.take($0) } }
        self.chain = chain
        return written.lines > 0
    }

    private mutating func checkpoint() {
        guard let key, let head = chain?.head, let signature = key.sign(AuditControl.signedText("checkpoint", head)) else { return }
        if append(.checkpoint(head, signature: signature)) { sinceCheckpoint = 0 }
        checkpointAt = system.monotonic()
    }

    private mutating func endFile(_ reason: AuditControl.Closing) {
        guard let head = chain?.head else { return }
        _ = append(.closed(reason, head, signature: key?.sign(AuditControl.signedText("closed", head))))
        sinceCheckpoint = 0
    }

    private mutating func beginFile(_ reason: AuditControl.Opening) {
        records = 0
        begunUnixSeconds = system.unixMicroseconds() / 1_000_000
        guard let chain else { return }
        // Somebody may have put a file there that has an end of its own: what follows hangs on our chain nevertheless, and says so.
        let torn = AuditTail(ofFile: path).tornBytes
        _ = append(.opened(reason, previous: chain.head, tornBytes: torn, key: key?.publicKey))
    }

    private var awaitsCheckpoint: Bool { key != nil && sinceCheckpoint > 0 }

    /// True while something is due by time alone: `tick` is to be called every second.
    var awaitsTick: Bool { awaitsCheckpoint || isUnsynced }

    /// What is due by time alone.
    mutating func tick() {
        let now = system.monotonic()
        if awaitsCheckpoint, now >= checkpointAt &+ settings.chain.checkpointSeconds &* 1_000_000_000 { checkpoint() }
        if isUnsynced { _ = sync() }
    }

    // MARK: Other files

    /// Once a second: whether the file is still the one of that name, and whether there is room. With each batch: whether it is complete.
    private mutating func look(batchBytes: Int, batchRecords: Int) -> SystemError? {
        let now = system.monotonic()
        if now >= checkedAt &+ Self.checkNanoseconds {
            checkedAt = now
            if settings.freeBytesMin > 0 { isLow = file.freeBytes.map { $0 < settings.freeBytesMin } ?? false }
            if file.wasMovedAway {
                do throws(SystemError) { try reopen() } catch { return error }
            }
        }
        guard
            file.isRegular, now >= rotatesAfter,
            rotation.isDue(
                size: file.size, records: records, batchBytes: batchBytes, batchRecords: batchRecords, begunUnixSeconds: begunUnixSeconds,
                nowUnixSeconds: system.unixMicroseconds() / 1_000_000)
        else { return nil }
        do throws(SystemError) {
            try rotate()
        } catch {
            // The file goes on growing; a directory that takes no new name is not asked for one with every batch.
            rotatesAfter = now &+ Self.checkNanoseconds
            return error
        }
        return nil
    }

    private mutating func rotate() throws(SystemError) {
        // Not ours to rename: somebody put it there.
        if file.wasMovedAway { return try reopen() }
        let target = names.rotatedPath(unixMicroseconds: system.unixMicroseconds())
        guard rename(path, target) == 0 else { throw SystemError("rename") }
        endFile(.rotation)
        if settings.sync != .never { _ = sync() }
        try file.reopen()
        _ = chain == nil || file.lock()
        beginFile(.rotation)
        sweeper.sweep()
    }

    /// Opens the path anew; the old file is kept when that fails.
    mutating func reopen() throws(SystemError) {
        let isSame = !file.wasMovedAway
        if isSame, file.isRegular { return }
        endFile(.reopen)
        try file.reopen()
        _ = chain == nil || file.lock()
        beginFile(.reopen)
    }

    /// The last record, and everything on disk as far as was asked for.
    mutating func end() {
        if untold > 0, append(.lost(records: untold)) { untold = 0 }
        endFile(.stop)
        if settings.sync != .never { _ = sync() }
        copy?.close()
    }

    func waitForSweep() { sweeper.wait() }
}
