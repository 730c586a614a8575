// audit list, tail, show, stats: records that match, for people or as JSON.
// Domain: cold

import CryoIO
import CryoRecord
import Glibc

enum AuditReading {
    private static func count(_ arguments: Arguments, unlessGiven count: Int) throws(UsageError) -> Int {
        guard let text = arguments.value("--lines") ?? arguments.value("-n") else { return count }
        guard let number = Int(text), (0...1_000_000).contains(number) else { throw UsageError(message: "-n needs a number") }
        return number
    }

    static func list(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        let filter = try AuditInput.filter(words)
        let most = try count(arguments, unlessGiven: .max)
        let printer = AuditPrinter(output: try StandardOutput(arguments), isJSON: arguments.has("--json"))
        guard let input = AuditInput.find(arguments) else { return ExitStatus.failed }
        var left = most
        let isWhole = AuditSearch(filter).run(input.files) { line in
            guard left > 0 else { return false }
            printer.print(line)
            left -= 1
            return left > 0 && printer.output.failure == nil
        }
        return printer.output.end(isWhole)
    }

    static func tail(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        let search = AuditSearch(try AuditInput.filter(words))
        let number = try count(arguments, unlessGiven: 10)
        let isFollowing = arguments.has("--follow") || arguments.has("-f")
        let printer = AuditPrinter(output: try StandardOutput(arguments), isJSON: arguments.has("--json"))
        guard let input = AuditInput.find(arguments), let file = input.files.last else { return ExitStatus.failed }
        if isFollowing {
            guard file != "-" else { throw UsageError(message: "standard input can't be followed") }
            guard input.files.count == 1 || arguments.has("--all") else { throw UsageError(message: "only one file can be followed") }
            var follower = AuditFollower(path: file)
            do throws(SystemError) {
                var last = try follower.begin(search, last: number)
                if last.count < number, input.files.count > 1 {
                    last = lastLines(search, input.files.dropLast(), number - last.count).lines + last
                }
                for line in last { line.withUnsafeBytes { printer.print($0) } }
            } catch {
                print(error: "\(error)")
                return ExitStatus.failed
            }
            follower.follow(search) { line in
                printer.print(line)
                return printer.output.failure == nil
            } idle: {
                printer.output.flush()
            }
            return printer.output.end(false)
        }
        let last = lastLines(search, input.files[...], number)
        for line in last.lines { line.withUnsafeBytes { printer.print($0) } }
        return printer.output.end(last.isWhole)
    }

    /// From the newest file back, as far as there are too few.
    private static func lastLines(
        _ search: AuditSearch, _ files: ArraySlice<String>, _ count: Int
    ) -> (lines: [[UInt8]], isWhole: Bool) {
        var lines: [[UInt8]] = []
        var isWhole = true
        for file in files.reversed() where lines.count < count {
            var ring: [[UInt8]] = []
            var next = 0
            let wanted = count - lines.count
            isWhole =
                search.run([file]) { line in
                    if ring.count < wanted { ring.append(Array(line)) } else { ring[next] = Array(line) }
                    next = (next + 1) % wanted
                    return true
                } && isWhole
            lines = Array((ring.count < wanted ? ring[...] : ring[next...] + ring[..<next])) + lines
        }
        return (lines, isWhole)
    }

    static func show(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        guard let id = words.first, words.count == 1 else { throw UsageError(message: "show needs one id") }
        let printer = AuditPrinter(output: try StandardOutput(arguments), isJSON: arguments.has("--json"))
        guard let input = AuditInput.find(arguments), let record = input.record(id) else { return ExitStatus.failed }
        if printer.isJSON { record.line.withUnsafeBytes { printer.print($0) } } else { printer.printWhole(record) }
        return printer.output.end(true)
    }

    static func stats(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        let filter = try AuditInput.filter(words)
        let output = try StandardOutput(arguments)
        guard let input = AuditInput.find(arguments) else { return ExitStatus.failed }
        let statistics = AuditStatistics()
        var isWhole = true
        if filter.isEmpty {
            // The statistics look for what is a record themselves.
            for file in input.files {
                isWhole =
                    AuditSearch.everyBlock(file) { block in
                        AuditSearch.everyLine(block) { line, _ in
                            statistics.add(line)
                            return true
                        }
                    } && isWhole
            }
        } else {
            isWhole = AuditSearch(filter).run(input.files) { line in
                statistics.add(line)
                return true
            }
        }
        if arguments.has("--json") { output.line(statistics.json()) } else { statistics.print(output) }
        return output.end(isWhole)
    }
}
