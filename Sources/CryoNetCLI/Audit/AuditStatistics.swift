// Counts over the records that match: by route, by failure, and how long they took.
// Domain: cold

import CryoJSON
import CryoRecord

/// Durations in buckets a sixteenth apart: a quantile is off by 6 % at most, whatever the number of records.
struct DurationHistogram {
    private var buckets = [UInt64](repeating: 0, count: 64 * 16)
    private(set) var count: UInt64 = 0
    private(set) var largest: Int64 = 0

    mutating func add(_ microseconds: Int64) {
        let value = UInt64(max(0, microseconds))
        buckets[Self.bucket(value)] += 1
        count += 1
        largest = max(largest, microseconds)
    }

    func quantile(_ share: Double) -> Int64 {
        guard count > 0 else { return 0 }
        let rank = max(1, UInt64((Double(count) * share).rounded(.up)))
        var seen: UInt64 = 0
        for (index, number) in buckets.enumerated() {
            seen += number
            if seen >= rank { return min(largest, Int64(clamping: Self.upper(index))) }
        }
        return largest
    }

    private static func bucket(_ value: UInt64) -> Int {
        guard value >= 16 else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return (exponent - 3) * 16 + Int(value >> UInt64(exponent - 4) & 15)
    }

    private static func upper(_ index: Int) -> UInt64 {
        guard index >= 16 else { return UInt64(index) }
        let exponent = UInt64(index / 16 + 3)
        let lower = (16 + UInt64(index % 16)) << (exponent - 4)
        return lower + (1 << (exponent - 4)) - 1
    }
}

final class AuditStatistics {
    /// Routes and reasons beyond are counted together.
    private static let namesMax = 1000

    struct Figures {
        var records: UInt64 = 0
        var failures: UInt64 = 0
        var durations = DurationHistogram()
        var classes = [UInt64](repeating: 0, count: 6)
        var requestBytes: Int64 = 0
        var responseBytes: Int64 = 0

        mutating func add(status: Int64, isFailure: Bool, duration: Int64, sizes: (request: Int64, response: Int64)) {
            records += 1
            failures += isFailure ? 1 : 0
            durations.add(duration)
            classes[Int(max(0, min(5, status / 100)))] += 1
            requestBytes &+= sizes.request
            responseBytes &+= sizes.response
        }
    }

    private(set) var all = Figures()
    private(set) var routes: [String: Figures] = [:]
    private(set) var reasons: [String: UInt64] = [:]
    private(set) var refreshes: [String: UInt64] = [:]
    private(set) var retried: UInt64 = 0
    private(set) var first: String?
    private var lastTime: [UInt8] = []
    private var last: String? { first == nil ? nil : String(decoding: lastTime, as: UTF8.self) }

    private let scanner = JSONScanner()
    private let paths = JSONPathSet(
        [
            "time", "route", "status", "duration_us", "request_bytes", "response_bytes", "failure.reason", "steps.refresh", "attempts.1",
            "id",
        ].compactMap { JSONPath(dotted: $0) })

    /// `line` is padded. What is no record is not counted.
    func add(_ line: UnsafeRawBufferPointer) {
        guard let paths, scanner.scan(line, paths: paths) == .scanned, scanner.slice(at: 9).kind == .string else { return }
        let reader = JSONValueReader(line)
        func text(_ place: Int) -> String? {
            let slice = scanner.slice(at: place)
            return slice.kind == .string ? String(decoding: reader.stringBytes(slice), as: UTF8.self) : nil
        }
        func integer(_ place: Int) -> Int64 {
            let slice = scanner.slice(at: place)
            return slice.kind == .number ? reader.integer(slice) ?? 0 : 0
        }
        if let time = reader.rawStringContent(scanner.slice(at: 0)) {
            lastTime.removeAll(keepingCapacity: true)
            lastTime.append(contentsOf: time)
            if first == nil { first = text(0) }
        }
        let reason = text(6)
        let route = name(text(1) ?? "(none)", in: routes)
        let sizes = (request: integer(4), response: integer(5))
        all.add(status: integer(2), isFailure: reason != nil, duration: integer(3), sizes: sizes)
        routes[route, default: Figures()].add(status: integer(2), isFailure: reason != nil, duration: integer(3), sizes: sizes)
        if let reason { reasons[name(reason, in: reasons), default: 0] += 1 }
        if let refresh = text(7), refresh != "not_needed" { refreshes[name(refresh, in: refreshes), default: 0] += 1 }
        if scanner.slice(at: 8).kind != .missing { retried += 1 }
    }

    private func name<Value>(_ name: String, in names: [String: Value]) -> String {
        names[name] != nil || names.count < Self.namesMax ? name : "(others)"
    }

    // MARK: Printing

    func print(_ output: StandardOutput) {
        output.line(
            "\(all.records) records\(all.records > 0 ? ", \(PrintableText.text(first ?? "-")) to \(PrintableText.text(last ?? "-"))" : "")")
        guard all.records > 0 else { return }
        let failed = all.failures * 1000 / all.records
        output.line("\(all.failures) failures (\(failed / 10).\(failed % 10) %), \(retried) with more than one attempt")
        output.line("\(all.requestBytes) bytes from clients, \(all.responseBytes) to them")
        output.line("")
        let head = ["ROUTE", "RECORDS", "FAILURES", "2XX", "3XX", "4XX", "5XX", "P50", "P95", "P99", "MAX"]
        let sorted = routes.sorted { ($1.value.records, $0.key) < ($0.value.records, $1.key) }
        var rows = sorted.map { Self.row($0.key, $0.value) }
        if routes.count > 1 { rows.append(Self.row("(all)", all)) }
        table(head, rows, output)
        for (title, counts) in [("REASON", reasons), ("REFRESH", refreshes)] where !counts.isEmpty {
            output.line("")
            table(
                [title, "RECORDS"], counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { [$0.key, String($0.value)] }, output)
        }
    }

    private static func row(_ name: String, _ figures: Figures) -> [String] {
        [name, String(figures.records), String(figures.failures)] + figures.classes[2...5].map { String($0) }
            + [0.5, 0.95, 0.99].map { AuditPrinter.duration(figures.durations.quantile($0)) } + [
                AuditPrinter.duration(figures.durations.largest)
            ]
    }

    private func table(_ head: [String], _ rows: [[String]], _ output: StandardOutput) {
        let clean = ([head] + rows).map { $0.map { PrintableText.text($0) } }
        let widths = head.indices.map { column in clean.map { $0[column].count }.max() ?? 0 }
        for row in clean {
            let cells = row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }
            output.line(cells.joined(separator: "  "))
        }
    }

    func json() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        if let first { writer.field("first", first) } else { writer.nullField("first") }
        if let last { writer.field("last", last) } else { writer.nullField("last") }
        Self.append(all, &writer)
        writer.field("retried", Int64(clamping: retried))
        writer.key("routes")
        writer.beginObject()
        for (name, figures) in routes.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            writer.beginObject()
            Self.append(figures, &writer)
            writer.endObject()
        }
        writer.endObject()
        for (key, counts) in [("reasons", reasons), ("refreshes", refreshes)] {
            writer.key(key)
            writer.beginObject()
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
                writer.key(name)
                writer.integer(count)
            }
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes
    }

    private static func append(_ figures: Figures, _ writer: inout JSONWriter) {
        writer.field("records", Int64(clamping: figures.records))
        writer.field("failures", Int64(clamping: figures.failures))
        writer.field("request_bytes", figures.requestBytes)
        writer.field("response_bytes", figures.responseBytes)
        for (index, count) in figures.classes.enumerated() where index > 1 {
            writer.key("status_\(index)xx")
            writer.integer(count)
        }
        for (name, share) in [("p50_us", 0.5), ("p95_us", 0.95), ("p99_us", 0.99)] {
            writer.key(name)
            writer.integer(figures.durations.quantile(share))
        }
        writer.field("max_us", figures.durations.largest)
    }
}
