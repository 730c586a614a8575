// run, proxy, demo: the commands that serve until a signal ends them.
// Domain: cold

import CryoConfig
import CryoGateway
import Glibc

private let listenOption = Option(
    name: "--listen", value: "ADDRESS", help: "address to listen on, HOST:PORT or unix:PATH; port 0 lets the system choose")
private let readyOption = Option(
    name: "--ready-file", value: "PATH", help: "written as JSON once connections are accepted: {\"listen\":[…],\"admin\":null,\"pid\":N}")
private let unsafeOption = Option(name: "--unsafe-listen", value: nil, help: "allow an address that is not loopback")

extension CommandLineInterface {
    static let runCommand = Command(
        name: "run", summary: "run the gateway from a configuration file", operands: "", operandsMax: 0,
        options: [
            Option(name: "--config", value: "FILE", help: "the configuration; default cryonet.yaml"), listenOption, unsafeOption,
            readyOption,
            Option(name: "--set", value: "KEY=VALUE", help: "set a key, e.g. limits.idle_timeout_ms=5000; may be repeated"),
        ],
        examples: [
            "cryonet run --config cryonet.yaml", "cryonet run --config conf/minimal.yaml --listen 127.0.0.1:0 --ready-file ready.json",
        ]
    ) { arguments throws(UsageError) in
        let file = arguments.value("--config") ?? "cryonet.yaml"
        let overrides = try ConfigurationFile.overrides(arguments)
        guard let loaded = ConfigurationFile.load(file, overrides: overrides) else { return ExitStatus.failed }
        return Serving(loaded, readyFile: arguments.value("--ready-file")) { ConfigurationFile.take(file, overrides: overrides) }.run()
    }

    static let proxyCommand = Command(
        name: "proxy", summary: "run the gateway in front of one API, without a file", operands: "URL", operandsMax: 1,
        options: [
            Option(name: "--bearer", value: "REF", help: "token to inject: env:NAME, file:PATH, or the token itself (shows in ps)"),
            Option(
                name: "--success", value: "FIELD=VALUE",
                help: "judge JSON envelopes: success when the field equals the value; or a preset, as code0_msg_data"),
            listenOption, unsafeOption,
            Option(name: "--admin", value: "ADDRESS", help: "open the admin side with the inspector page there, e.g. 127.0.0.1:8081"),
            Option(name: "--audit", value: "FILE", help: "write one JSON line per exchange"), readyOption,
        ],
        examples: ["cryonet proxy https://api.example.com --bearer env:TOKEN --success code=0"]
    ) { arguments throws(UsageError) in
        guard let url = arguments.operands.first else { throw UsageError(message: "the URL is missing") }
        var quick = QuickConfiguration(url: url)
        quick.bearer = arguments.value("--bearer")
        quick.success = arguments.value("--success")
        quick.listen = arguments.value("--listen")
        quick.unsafeListen = arguments.has("--unsafe-listen")
        quick.auditFile = arguments.value("--audit")
        quick.admin = arguments.value("--admin")
        guard let loaded = ConfigurationFile.report(quick.load(environment: environment)) else { return ExitStatus.failed }
        return Serving(loaded, readyFile: arguments.value("--ready-file"), reload: nil).run()
    }

    static let demoCommand = Command(
        name: "demo", summary: "start an embedded upstream and the gateway in front of it", operands: "", operandsMax: 0,
        options: [
            listenOption, readyOption,
            Option(name: "--audit", value: "FILE", help: "where to write the audit; default a new file under $TMPDIR"),
            Option(name: "--print-config", value: nil, help: "also print the configuration the demo runs with"),
            Option(name: "--upstream-only", value: nil, help: "run only the demo API, on the address given by --listen"), unsafeOption,
        ],
        examples: ["cryonet demo", "cryonet demo --listen 127.0.0.1:0 --ready-file ready.json"]
    ) { arguments throws(UsageError) in
        let audit = arguments.value("--audit") ?? "\(environment("TMPDIR") ?? "/tmp")/cryonet-demo-\(getpid()).jsonl"
        let listen = arguments.value("--listen") ?? "127.0.0.1:8080"
        if arguments.has("--upstream-only") {
            return UpstreamServing(listen, allowsRemote: arguments.has("--unsafe-listen"), readyFile: arguments.value("--ready-file")).run()
        }
        do throws(GatewayError) {
            let demo = try Demo()
            defer { demo.stop() }
            let text = demo.configurationText(listen: listen, auditFile: audit)
            if arguments.has("--print-config") { print(text + "\n") }
            let read = readConfiguration(Array(text.utf8), fileName: "demo", environment: { _ in nil })
            // The demo's tokens are literals on purpose; no warning helps here.
            guard let loaded = ConfigurationFile.report(read, showsWarnings: false) else { return ExitStatus.failed }
            let serving = Serving(loaded, readyFile: arguments.value("--ready-file"), reload: nil)
            return serving.run { address, inspector in
                print(DemoGuide.text(address: address, inspector: inspector ?? "", auditFile: audit))
            }
        } catch {
            print(error: error.description)
            return ExitStatus.failed
        }
    }
}
