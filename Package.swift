// swift-tools-version: 6.2
// What depends on what. Arrows go one way (design: adapters import the pipeline, never the reverse);
// `swift build --explicit-target-dependency-import-check error` proves it.

import PackageDescription

/// The libFuzzer program exists only when asked for: it links with `--sanitize fuzzer` alone.
let isFuzzing = Context.environment["CRYONET_FUZZ"] == "1"

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // What a debug build, and with it every test, checks at run time, a release build trusts: two accesses of one variable at a time.
    // The checks were an eighth of the instructions of a request (decision 0009).
    .unsafeFlags(["-enforce-exclusivity=unchecked", "-cross-module-optimization"], .when(configuration: .release)),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let package = Package(
    name: "cryonet",
    products: [
        .executable(name: "cryonet", targets: ["CryoNetCLI"]),
        .library(name: "CryoNet", targets: ["CryoNet"]),
    ],
    targets: [
        // C libraries of the system, and the thin typed shims over what Swift cannot call.
        .systemLibrary(name: "CCurl", path: "Sources/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CYAML", path: "Sources/CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CCoding", path: "Sources/CCoding", providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"])]),
        .systemLibrary(name: "CISAL", path: "Sources/CISAL", providers: [.apt(["libisal-dev"])]),
        .systemLibrary(name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CHiredis", path: "Sources/CHiredis", pkgConfig: "hiredis", providers: [.apt(["libhiredis-dev"])]),
        .target(name: "CEpoll"),
        // The files of the inspector page, embedded as they are.
        .target(name: "CInspector", exclude: ["Page"]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),

        // The standard mutex, or one that the thread sanitizer understands.
        module("CryoSync"),

        // The pure part: bytes, JSON, the ten steps.
        module("CryoHTTP"),
        module("CryoJSON", ["CSimdJSON"]),
        module("CryoPipeline", ["CryoHTTP", "CryoJSON", "CryoSync"]),

        // What an audit record says: filters, HAR, curl commands.
        module("CryoRecord", ["CryoJSON", "CryoHTTP"]),

        // The adapters.
        module("CryoIO", ["CEpoll", "COpenSSL", "CryoSync"]),
        module("CryoServer", ["CryoPipeline", "CryoHTTP", "CryoIO", "CryoSync"]),
        module("CryoUpstream", ["CryoPipeline", "CryoHTTP", "CryoIO", "CCurl"]),
        module("CryoTokens", ["CHiredis", "CryoPipeline", "CryoJSON", "CryoUpstream", "CryoIO", "CEpoll", "COpenSSL", "CryoSync"]),
        module("CryoHooks", ["CryoPipeline", "CryoJSON", "CryoUpstream", "CryoIO", "CryoSync", "CEpoll", "COpenSSL"]),
        module("CryoCoding", ["CCoding"]),
        module("CryoAudit", ["CCoding", "CISAL", "COpenSSL", "CryoPipeline", "CryoJSON", "CryoIO", "CryoSync"]),
        module("CryoAdmin", ["CInspector", "CryoPipeline", "CryoHTTP", "CryoJSON", "CryoRecord", "CryoIO", "CryoSync"]),

        // Configuration, composition, commands.
        module("CryoConfig", ["CYAML", "CryoPipeline", "CryoJSON", "CryoHTTP"]),
        module(
            "CryoGateway",
            [
                "CryoConfig", "CryoServer", "CryoUpstream", "CryoTokens", "CryoHooks", "CryoAudit", "CryoAdmin", "CryoCoding",
                "CryoPipeline",
                "CryoHTTP", "CryoJSON",
                "CryoIO", "CryoSync",
            ]),
        .executableTarget(
            name: "CryoNetCLI",
            dependencies: [
                "CryoGateway", "CryoAdmin", "CryoAudit", "CryoTokens", "CryoConfig", "CryoPipeline", "CryoUpstream", "CryoRecord",
                "CryoHTTP",
                "CryoJSON", "CryoIO",
                "CryoSync",
                "CCoding",
            ],
            swiftSettings: strict),

        // The same pipeline for programs that want the policies in-process.
        module("CryoNet", ["CryoPipeline", "CryoUpstream", "CryoIO", "CryoHTTP", "CryoJSON", "CryoCoding", "CryoSync"]),

        // The scripted server that several test targets use.
        .target(name: "CryoTestSupport", dependencies: ["CryoSync"], path: "Tests/CryoTestSupport", swiftSettings: strict),

        tests("CryoHTTPTests", ["CryoHTTP"]),
        tests("CryoJSONTests", ["CryoJSON"]),
        tests("CryoPipelineTests", ["CryoPipeline", "CryoHTTP", "CryoJSON", "CryoSync"]),
        tests("CryoRecordTests", ["CryoRecord", "CryoJSON"]),
        tests("CryoIOTests", ["CryoIO", "CEpoll", "CryoSync"]),
        tests("CryoServerTests", ["CryoServer", "CryoPipeline", "CryoHTTP", "CryoIO", "CryoSync"]),
        tests("CryoUpstreamTests", ["CryoUpstream", "CryoPipeline", "CryoHTTP", "CryoIO", "CryoSync", "CryoTestSupport"]),
        tests("CryoTokensTests", ["CryoTokens", "CryoPipeline", "CryoJSON", "CryoUpstream", "CryoIO", "CEpoll", "COpenSSL", "CryoSync"]),
        tests("CryoHooksTests", ["CryoHooks", "CryoPipeline", "CryoIO", "CryoSync", "CryoTestSupport"]),
        tests("CryoAuditTests", ["CCoding", "CryoAudit", "CryoPipeline", "CryoJSON", "CryoIO", "CryoSync"]),
        tests("CryoAdminTests", ["CryoAdmin", "CInspector", "CryoPipeline", "CryoHTTP", "CryoSync"]),
        tests("CryoCodingTests", ["CryoCoding", "CCoding"]),
        tests("CryoConfigTests", ["CryoConfig", "CryoPipeline", "CryoJSON"]),
        tests("CryoNetTests", ["CryoNet", "CryoSync", "CryoTestSupport"]),
        tests("HygieneTests", []),

        // The fuzz entries are ordinary functions: the corpora run through them here, libFuzzer through them in scripts/fuzz.
        .target(
            name: "CryoFuzz", dependencies: ["CryoHTTP", "CryoJSON", "CryoPipeline", "CryoConfig"], path: "Tests/Fuzz/Entries",
            swiftSettings: strict),
        tests("CryoFuzzCorpusTests", ["CryoFuzz"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

if isFuzzing {
    package.targets += [
        .executableTarget(
            name: "cryonet-fuzz", dependencies: ["CryoFuzz"], path: "Tests/Fuzz/Runner", swiftSettings: strict)
    ]
}

/// The micro benchmark exists only when asked for: CRYONET_BENCH=1.
if Context.environment["CRYONET_BENCH"] == "1" {
    package.targets += [
        .executableTarget(
            name: "cryonet-bench", dependencies: ["CryoJSON", "CryoPipeline"], path: "Tests/Bench/Judge", swiftSettings: strict)
    ]
}
