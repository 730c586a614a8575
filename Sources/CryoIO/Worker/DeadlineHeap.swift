// A binary heap of deadlines by endpoint name. Entries are never removed, only outdated: the endpoint knows which one counts.
// Domain: pure

struct DeadlineEntry {
    var at: UInt64
    var endpoint: EndpointID
}

struct DeadlineHeap {
    private var entries: [DeadlineEntry] = []

    var count: Int { entries.count }
    var earliest: UInt64? { entries.first?.at }

    mutating func push(_ entry: DeadlineEntry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if entries[parent].at <= entries[child].at { break }
            entries.swapAt(parent, child)
            child = parent
        }
    }

    mutating func popEarliest() -> DeadlineEntry? {
        guard let first = entries.first else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink(0)
        }
        return first
    }

    /// Drops every entry for which `isCurrent` is false; keeps the heap from growing with connections that are gone.
    mutating func compact(_ isCurrent: (DeadlineEntry) -> Bool) {
        entries.removeAll { !isCurrent($0) }
        for index in stride(from: entries.count / 2, through: 0, by: -1) where index < entries.count { sink(index) }
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var child = 2 * parent + 1
            if child >= entries.count { return }
            if child + 1 < entries.count, entries[child + 1].at < entries[child].at { child += 1 }
            if entries[parent].at <= entries[child].at { return }
            entries.swapAt(parent, child)
            parent = child
        }
    }
}
