// Owns the encoded bodies of the coding tests: the libraries' own encoders, and brotli streams made beforehand.
// Domain: cold

import CCoding

@testable import CryoCoding

/// `DecodedBody` with `==` and text that reads well in a failure.
enum Seen: Equatable {
    case identity, tooLarge, broken, unknownCoding
    case decoded([UInt8])

    init(_ body: DecodedBody) {
        switch body {
        case .identity: self = .identity
        case .decoded(let bytes): self = .decoded(bytes)
        case .tooLarge: self = .tooLarge
        case .broken: self = .broken
        case .unknownCoding: self = .unknownCoding
        }
    }
}

/// Every format a body can have, and the coding's name for it.
enum Wire: CaseIterable {
    case gzip, zlib, raw, brotli, zstd

    var name: String {
        switch self {
        case .gzip: "gzip"
        case .zlib, .raw: "deflate"
        case .brotli: "br"
        case .zstd: "zstd"
        }
    }

    /// Fixed content in this format.
    var json: [UInt8] {
        self == .brotli ? CodingFixture.brotliJSON : encode(CodingFixture.json)
    }

    /// `CodingFixture.zerosCount` zeros in this format.
    var zeros: [UInt8] {
        self == .brotli ? CodingFixture.brotliZeros : encode([UInt8](repeating: 0, count: CodingFixture.zerosCount))
    }

    /// Empty content in this format.
    var empty: [UInt8] {
        self == .brotli ? [0x06] : encode([])
    }

    /// Any content; nothing for brotli, whose encoder is not linked.
    func encode(_ content: [UInt8]) -> [UInt8] {
        switch self {
        case .gzip: CodingFixture.deflated(content, windowBits: 31)
        case .zlib: CodingFixture.deflated(content, windowBits: 15)
        case .raw: CodingFixture.deflated(content, windowBits: -15)
        case .brotli: []
        case .zstd: CodingFixture.zstd(content)
        }
    }

    static let encodable: [Wire] = [.gzip, .zlib, .raw, .zstd]
}

enum CodingFixture {
    static let json = Array(#"{"code":0,"msg":"ok","data":[1,2,3]}"#.utf8)
    static let zerosCount = 1 << 20

    static let brotliJSON: [UInt8] = [
        0x8b, 0x11, 0x80, 0x7b, 0x22, 0x63, 0x6f, 0x64, 0x65, 0x22, 0x3a, 0x30, 0x2c, 0x22, 0x6d, 0x73, 0x67, 0x22, 0x3a, 0x22,
        0x6f, 0x6b, 0x22, 0x2c, 0x22, 0x64, 0x61, 0x74, 0x61, 0x22, 0x3a, 0x5b, 0x31, 0x2c, 0x32, 0x2c, 0x33, 0x5d, 0x7d, 0x03,
    ]
    static let brotliZeros: [UInt8] = [0x5b, 0xff, 0xff, 0x8f, 0x7f, 0x02, 0x20, 0x1e, 0x0b, 0x04, 0x72, 0xef, 0x1f, 0x00]
    /// `json` in gzip, then in brotli.
    static let brotliGzipJSON: [UInt8] = [
        0x8b, 0x1b, 0x80, 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xab, 0x56, 0x4a, 0xce, 0x4f, 0x49, 0x55,
        0xb2, 0x32, 0xd0, 0x51, 0xca, 0x2d, 0x4e, 0x57, 0xb2, 0x52, 0xca, 0xcf, 0x56, 0xd2, 0x51, 0x4a, 0x49, 0x2c, 0x49, 0x54,
        0xb2, 0x8a, 0x36, 0xd4, 0x31, 0xd2, 0x31, 0x8e, 0xad, 0x05, 0x00, 0xc1, 0xd3, 0xcb, 0x05, 0x24, 0x00, 0x00, 0x00, 0x03,
    ]

    static func decode(_ body: [UInt8], _ encoding: String, bytesMax: Int = 4 << 20, padding: Int = 64) -> Seen {
        Seen(decodeRaw(body, encoding, bytesMax: bytesMax, padding: padding))
    }

    static func decodeRaw(_ body: [UInt8], _ encoding: String, bytesMax: Int, padding: Int) -> DecodedBody {
        // An exact heap copy, so that a sanitizer sees a read past the end.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: body)
        return Array(encoding.utf8).withUnsafeBytes {
            ContentDecoder.decode(UnsafeRawBufferPointer(copy), contentEncoding: $0, bytesMax: bytesMax, padding: padding)
        }
    }

    /// Bytes that do not compress, the same ones each time.
    static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    static func deflated(_ content: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = z_stream()
        return withUnsafeMutablePointer(to: &stream) { stream in
            guard cryo_deflate_init(stream, 6, windowBits) == Z_OK else { return [] }
            defer { deflateEnd(stream) }
            var input = content
            return input.withUnsafeMutableBufferPointer { source in
                stream.pointee.next_in = source.baseAddress
                stream.pointee.avail_in = UInt32(source.count)
                let room = Int(deflateBound(stream, UInt(source.count))) + 64
                return [UInt8](unsafeUninitializedCapacity: room) { target, count in
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = UInt32(room)
                    guard deflate(stream, Z_FINISH) == Z_STREAM_END else { return }
                    count = room - Int(stream.pointee.avail_out)
                }
            }
        }
    }

    /// One frame through the streaming encoder; without the content's size the frame names a window instead.
    static func zstd(_ content: [UInt8], windowLog: Int32? = nil) -> [UInt8] {
        guard let encoder = ZSTD_createCCtx() else { return [] }
        defer { ZSTD_freeCCtx(encoder) }
        if let windowLog {
            ZSTD_CCtx_setParameter(encoder, ZSTD_c_windowLog, windowLog)
            ZSTD_CCtx_setParameter(encoder, ZSTD_c_contentSizeFlag, 0)
        }
        ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, 1)
        let room = ZSTD_compressBound(content.count) + 64
        return [UInt8](unsafeUninitializedCapacity: room) { target, count in
            content.withUnsafeBytes { source in
                var input = ZSTD_inBuffer(src: source.baseAddress, size: 0, pos: 0)
                var output = ZSTD_outBuffer(dst: target.baseAddress, size: room, pos: 0)
                // A first call that does not end the frame keeps the encoder from learning the size.
                if windowLog != nil { ZSTD_compressStream2(encoder, &output, &input, ZSTD_e_continue) }
                input.size = source.count
                guard ZSTD_compressStream2(encoder, &output, &input, ZSTD_e_end) == 0 else { return }
                count = output.pos
            }
        }
    }
}
