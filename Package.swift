// swift-tools-version: 6.2
// What depends on what. Arrows go one way (design: adapters import the pipeline, never the reverse);
// `swift build --explicit-target-dependency-import-check error` proves it.

import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let package = Package(
    name: "cryonet",
    targets: [
        // C libraries of the system, and the thin typed shims over what Swift cannot call.
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),

        // The pure part: bytes, JSON, the ten steps.
        module("CryoHTTP"),
        module("CryoJSON", ["CSimdJSON"]),
        module("CryoPipeline", ["CryoHTTP", "CryoJSON"]),

        tests("CryoHTTPTests", ["CryoHTTP"]),
        tests("CryoJSONTests", ["CryoJSON"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
