// Follows a chain through the lines of audit files and names what does not fit. Works offline; a public key makes it certain.
// Domain: cold
//
// A record is held against the hash that the line before it claims, not against one computed: so one change is told once, where it is.
// Without a signature a chain only proves that nobody changed a part of it: who writes all of it anew goes unnoticed but for a note of an
// earlier head. Checkpoints bind it to a key.

package struct AuditVerifier {
    /// What has to hold beyond the chain itself.
    package struct Demands {
        package var key: CheckpointVerifier?
        /// A head noted earlier: it must be in the chain.
        package var head: ChainHead?
        /// The last record must say that the file was closed.
        package var mustBeClosed = false

        package init() {}
    }

    /// Where a record stands.
    struct Place {
        var file = ""
        var line: UInt64 = 0
        var id: String?
    }

    /// Numbers that were passed over, until they turn up elsewhere.
    struct Gap {
        var sequences: ClosedRange<UInt64>
        var file: String
        var line: UInt64
        var kind: AuditFinding.Kind
    }

    /// A line without a chain, until the next one tells what it was.
    struct Unchained {
        var place: Place
        var count: Int
    }

    let demands: Demands
    let hasher: ChainHasher
    var result = AuditVerification()
    var file = ""
    var isFirstOfFile = true
    var head: ChainHead?
    var place = Place()
    /// Other records of the same number as `head`, by their hash, and which finding tells of each.
    var rivals: [(hash: ChainHash, place: Place, finding: Int)] = []
    var gaps: [Gap] = []
    var unchained: [Unchained] = []
    var plainLines: UInt64 = 0
    var keyOfFile: CheckpointVerifier?
    var isHeadSeen = false
    /// The hash before the next record is not known.
    var isBlind = false
    static let rememberedMax = 1000

    /// nil when OpenSSL has no SHA-256.
    package init?(_ demands: Demands) {
        guard let hasher = ChainHasher() else { return nil }
        self.demands = demands
        self.hasher = hasher
    }

    package mutating func beginFile(_ name: String) {
        file = name
        isFirstOfFile = true
        result.files += 1
    }

    // MARK: Lines

    package mutating func take(_ line: UnsafeRawBufferPointer, number: UInt64) {
        if line.isEmpty { return }
        guard let chained = ChainLine(line) else { return takeUnchained(line, number) }
        let here = Place(file: file, line: number, id: Self.id(in: line))
        let control = ControlLine(line)
        if control == nil { result.records += 1 } else { result.controls += 1 }
        settleUnchained(before: chained.head.sequence, control)
        let text = UnsafeRawBufferPointer(rebasing: line[..<chained.hashedCount])
        let before = head
        if let head {
            if chained.head.sequence == head.sequence &+ 1 {
                follow(head, chained.head, text, here)
            } else if chained.head.sequence > head.sequence {
                passOver(head, chained.head, here, isOpening: control?.word == "opened")
            } else {
                fallBack(chained.head, here, control)
            }
        } else {
            begin(chained.head, text, here, control)
        }
        if let control { heed(control, before, here, chained.head) }
        if let wanted = demands.head, wanted == chained.head { isHeadSeen = true }
        isFirstOfFile = false
    }

    /// The end of a file that has no line end. It may be being written.
    package mutating func takeTorn(_ line: UnsafeRawBufferPointer, number: UInt64, isLastFile: Bool) {
        if isLastFile {
            note("\(file):\(number): the last line has no end: it is being written, or the process was killed")
        } else {
            takeUnchained(line, number)
        }
    }

    package mutating func takeTooLong(number: UInt64) {
        add(.inserted, Place(file: file, line: number), nil, "a line longer than any record")
    }

    private mutating func advance(to head: ChainHead, _ here: Place) {
        self.head = head
        place = here
        isBlind = false
        rivals.removeAll()
    }

    private mutating func begin(_ first: ChainHead, _ text: UnsafeRawBufferPointer, _ here: Place, _ control: ControlLine?) {
        defer { advance(to: first, here) }
        if plainLines > 0 { note("\(plainLines) lines before the chain began are not protected by it") }
        let previous = first.sequence == 1 ? ChainHead() : control?.previous
        guard let previous, previous.sequence == first.sequence - 1 else {
            return add(.beheaded, here, 1...max(1, first.sequence &- 1), "not in the files given, and the first record does not name them")
        }
        if first.sequence > 1 {
            note("\(file) begins with record \(first.sequence); the \(first.sequence - 1) before it are in files not given")
        }
        if hasher.hash(after: previous.hash, text) != first.hash {
            add(.edited, here, first.sequence...first.sequence, "its hash does not fit its text")
        }
    }

    private mutating func follow(_ head: ChainHead, _ next: ChainHead, _ text: UnsafeRawBufferPointer, _ here: Place) {
        defer { advance(to: next, here) }
        if isBlind || hasher.hash(after: head.hash, text) == next.hash { return }
        if let rival = rivals.first(where: { hasher.hash(after: $0.hash, text) == next.hash }) {
            // The other one is the record that belongs here: what came first was put in.
            if result.findings.indices.contains(rival.finding) {
                result.findings[rival.finding].file = place.file
                result.findings[rival.finding].line = place.line
                result.findings[rival.finding].id = place.id
            }
            return
        }
        add(.edited, here, next.sequence...next.sequence, "its text and hash do not fit the record before; one of the two was changed")
    }

    private mutating func passOver(_ head: ChainHead, _ next: ChainHead, _ here: Place, isOpening: Bool) {
        let missing = (head.sequence + 1)...(next.sequence - 1)
        let isAtEnd = isFirstOfFile || isOpening
        if gaps.count < Self.rememberedMax {
            gaps.append(
                Gap(
                    sequences: missing, file: isAtEnd ? place.file : here.file, line: isAtEnd ? place.line : here.line,
                    kind: isAtEnd ? .truncated : .removed))
        } else {
            result.furtherFindings += 1
        }
        advance(to: next, here)
    }

    private mutating func fallBack(_ found: ChainHead, _ here: Place, _ control: ControlLine?) {
        let numbers = found.sequence...found.sequence
        if let index = gaps.firstIndex(where: { $0.sequences.contains(found.sequence) }) {
            let gap = gaps.remove(at: index)
            let parts = [(gap.sequences.lowerBound, found.sequence &- 1), (found.sequence &+ 1, gap.sequences.upperBound)]
            for (first, last) in parts where first <= last {
                gaps.append(Gap(sequences: first...last, file: gap.file, line: gap.line, kind: gap.kind))
            }
            return add(.reordered, here, numbers, "stands behind record \(head?.sequence ?? 0)")
        }
        if found.sequence == 1, control?.word == "opened" {
            add(.restarted, here, numbers, "a new chain begins after record \(head?.sequence ?? 0)")
            return advance(to: found, here)
        }
        add(.inserted, here, numbers, "there is another record of this number")
        if found.sequence == head?.sequence, rivals.count < Self.rememberedMax {
            rivals.append((found.hash, here, result.findings.count - 1))
        }
    }

    // MARK: Lines without a chain

    private mutating func takeUnchained(_ line: UnsafeRawBufferPointer, _ number: UInt64) {
        guard head != nil else {
            plainLines += 1
            return
        }
        let here = Place(file: file, line: number, id: Self.id(in: line))
        guard unchained.count < Self.rememberedMax else { return add(.inserted, here, nil, "it carries no chain") }
        unchained.append(Unchained(place: here, count: line.count))
    }

    /// What the lines were that came without a chain, now that the next with one is here.
    private mutating func settleUnchained(before sequence: UInt64, _ control: ControlLine?) {
        guard !unchained.isEmpty, let head else { return }
        let lines = unchained
        unchained.removeAll()
        if lines.count == 1, control?.word == "opened", control?.tornBytes == UInt64(lines[0].count) {
            let place = lines[0].place
            return note("\(place.file):\(place.line): half a line, of a process that was killed; record \(sequence) tells of it")
        }
        // As many numbers as lines: the records are there, but their chain was changed.
        if sequence > head.sequence, sequence - head.sequence - 1 == UInt64(lines.count) {
            for (offset, line) in lines.enumerated() {
                let number = head.sequence + 1 + UInt64(offset)
                add(.edited, line.place, number...number, "its chain was changed")
            }
            // What they claimed is not known: the next record is the next that can be held against another.
            self.head = ChainHead(sequence: sequence - 1, hash: ChainHash())
            isBlind = true
            return
        }
        for line in lines { add(.inserted, line.place, nil, "it carries no chain") }
    }
}
