// The part of an event that the client does not have yet, on routes that care for what follows a loss.
// Domain: worker

struct StreamHold {
    /// A longer event goes on as it comes; nothing can be done then if it is cut off.
    package static let eventBytesMax = 65_536

    private(set) var bytes: [UInt8] = []
    /// The client has the beginning of an event whose end has not come.
    private(set) var isPassing = false
    /// How many bytes of a byte order mark to leave out have come; nil: none is to be left out. It may stand only at the very beginning
    /// of what the client gets, where something of ours or of an earlier attempt is already.
    private var markMatched: Int?

    mutating func restart() {
        bytes.removeAll()
        markMatched = 0
    }

    mutating func dropMark() { markMatched = 0 }

    mutating func takeAll() -> [UInt8] {
        let all = bytes
        bytes = []
        return all
    }

    /// The client gets everything up to the end of an event.
    mutating func passed() { isPassing = false }

    /// Keeps what is no whole event. False: it is to be passed on, because a part of it has been, or because it gets too long.
    mutating func keep(_ rest: UnsafeRawBufferPointer) -> Bool {
        if rest.isEmpty { return true }
        if !isPassing, bytes.count + rest.count <= Self.eventBytesMax {
            bytes.append(contentsOf: rest)
            return true
        }
        isPassing = true
        return false
    }

    /// How many of the first bytes are the mark's. `missed`: the bytes before, left out too early, were none.
    mutating func matchMark(_ piece: UnsafeRawBufferPointer) -> (count: Int, missed: Int) {
        let mark: StaticString = "\u{FEFF}"
        var count = 0
        while let matched = markMatched, count < piece.count {
            guard piece[count] == mark.utf8Start[matched] else {
                markMatched = nil
                return (0, matched - count)
            }
            count += 1
            markMatched = matched == 2 ? nil : matched + 1
        }
        return (count, 0)
    }
}
