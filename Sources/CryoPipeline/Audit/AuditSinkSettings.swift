// What the configuration says about the audit's file: its chain, its rotation, and what happens when it takes nothing.
// Domain: pure

package struct AuditSinkSettings: Sendable, Equatable {
    /// What becomes of an exchange whose record has no place.
    package enum Full: String, Sendable, CaseIterable { case drop, block, refuse }
    /// When records are forced to the disk: left to the system, once a second, or with every batch.
    package enum Sync: String, Sendable, CaseIterable { case never, interval, always }
    /// Where records go besides the file.
    package enum Copy: String, Sendable, CaseIterable { case none, stdout, syslog }

    package struct Chain: Sendable, Equatable {
        package var isOn = true
        /// PEM of an Ed25519 key, made when it is not there; nil: checkpoints are not signed, and none are written.
        package var keyFile: String?
        package var checkpointRecords: UInt64 = 1000
        package var checkpointSeconds: UInt64 = 60

        package init() {}
    }

    package struct Rotation: Sendable, Equatable {
        package enum Period: String, Sendable, CaseIterable { case never, hour, day }
        /// A batch that would make the file longer begins a new one; 0: no bound.
        package var fileBytes: UInt64 = 100 << 20
        package var fileRecords: UInt64 = 0
        /// By the hours and days of UTC.
        package var every: Period = .never
        /// Older files kept; 0: all.
        package var keepFiles = 10
        package var keepDays = 90
        package var isCompressed = true

        package init() {}

        package var isOn: Bool { fileBytes > 0 || fileRecords > 0 || every != .never }
    }

    package var chain = Chain()
    package var rotation = Rotation()
    package var onFull: Full = .drop
    /// How long an exchange waits with `block` before it is refused.
    package var blockMilliseconds: UInt32 = 10_000
    package var sync: Sync = .never
    /// With less room than this the file system counts as full; 0: only when it is.
    package var freeBytesMin: UInt64 = 0
    package var copy: Copy = .none
    /// Where the system's log takes datagrams.
    package var syslogPath = "/dev/log"

    package init() {}

    /// Only what is asked for: no chain, no rotation.
    package static var plain: AuditSinkSettings {
        var settings = AuditSinkSettings()
        settings.chain.isOn = false
        settings.rotation.fileBytes = 0
        return settings
    }
}
