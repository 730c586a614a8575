// /api/har: the archive is made while it is taken, a few records at a time.
// Domain: cold

import CryoPipeline
import CryoRecord

// SAFETY: everything that changes is touched on the admin queue only, where all calls come.
final class ArchiveStream: AdminStream, @unchecked Sendable {
    private enum Place {
        case beginning
        case record(UInt64)
        case over
    }

    let heartbeat: [UInt8] = []
    private let ring: RecordRing
    private let export: HARExport
    private let version: String
    private let isWanted: @Sendable ([UInt8]) -> Bool
    /// What comes later is not part of it: an archive has an end.
    private let limit: UInt64
    private var place = Place.beginning
    private var isFirst = true

    init(_ ring: RecordRing, _ export: HARExport, version: String, isWanted: @escaping @Sendable ([UInt8]) -> Bool) {
        self.ring = ring
        self.export = export
        self.version = version
        self.isWanted = isWanted
        limit = ring.kept.upperBound
    }

    func begin(wake: @escaping @Sendable () -> Void) {}
    func end() {}

    func next() -> AdminStreamStep {
        switch place {
        case .beginning:
            place = .record(ring.kept.lowerBound)
            return .bytes(export.begin(version: version))
        case .over: return .end
        case .record(let sequence):
            var bytes: [UInt8] = []
            var sequence = sequence
            while sequence < limit, bytes.count < ExchangeStream.pieceBytesMax {
                let page = ring.read(from: sequence, countMax: ExchangeStream.pieceRecordsMax, bytesMax: ExchangeStream.pieceBytesMax)
                if page.lines.isEmpty { break }
                for (index, line) in page.lines.enumerated() where page.first + UInt64(index) < limit && isWanted(line) {
                    guard let view = RecordView(line) else { continue }
                    if !isFirst { bytes.append(0x2C) }
                    isFirst = false
                    bytes.append(contentsOf: export.entry(view))
                }
                sequence = page.next
            }
            place = .record(sequence)
            if sequence >= limit || bytes.isEmpty {
                place = .over
                bytes.append(contentsOf: export.end())
            }
            return .bytes(bytes)
        }
    }
}
