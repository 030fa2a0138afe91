use super::*;

const SCRIPTS: &[&str] = &[
    include_str!("../adjust_clock.lua"),
    include_str!("../adopt.lua"),
    include_str!("../check_in.lua"),
    include_str!("../take_call.lua"),
    include_str!("../take_check.lua"),
    include_str!("../record_check_progress.lua"),
    include_str!("../claim.lua"),
    include_str!("../preflight.lua"),
    include_str!("../configure.lua"),
    include_str!("../requeue_with_backoff.lua"),
    include_str!("../enter.lua"),
    include_str!("../evict_waiting.lua"),
    include_str!("../presence_many.lua"),
    include_str!("../delete_queue.lua"),
    include_str!("../drop_queue.lua"),
    include_str!("../hold.lua"),
    include_str!("../move_to_lane.lua"),
    include_str!("../promote_entry.lua"),
    include_str!("../leave.lua"),
    include_str!("../record_load.lua"),
    include_str!("../status_many.lua"),
    include_str!("../raise_watermark.lua"),
    include_str!("../read_page.lua"),
    include_str!("../read_due_records.lua"),
    include_str!("../promote.lua"),
    include_str!("../append_to_journal.lua"),
    include_str!("../append_to_line.lua"),
    include_str!("../release.lua"),
    include_str!("../settle_switches.lua"),
    include_str!("../take_report.lua"),
    include_str!("../read_tally.lua"),
    include_str!("../take_tally.lua"),
    include_str!("../acknowledge_tally.lua"),
    include_str!("../park_idle_promoter.lua"),
    include_str!("../restore.lua"),
    include_str!("../dead_letter.lua"),
    include_str!("../acknowledge.lua"),
    include_str!("../status.lua"),
    include_str!("../take_fallback_tick.lua"),
    include_str!("../validate.lua"),
    include_str!("../queue_view.lua"),
];

/// The names of the local variables that a script reads from `KEYS` or `ARGV`, in order.
fn read_locals(source: &str, table: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in source.lines().filter(|line| line.starts_with("local ")) {
        let Some((left, right)) = line.trim_start_matches("local ").split_once(" = ") else {
            continue;
        };
        for (name, value) in left.split(", ").zip(right.split(", ")) {
            let number = value.trim_start_matches("tonumber(").trim_end_matches(')');
            if number == format!("{table}[{}]", names.len() + 1) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn script_headers_match_keys_and_arguments() {
    for source in SCRIPTS {
        assert!(
            source.starts_with("#!lua"),
            "a script must begin with `#!lua`, so that a cluster refuses a key of another slot"
        );
        let body = source
            .split_once('\n')
            .expect("a script has more than one line")
            .1;
        assert_eq!(read_header(body, "KEYS"), read_locals(source, "KEYS"), "{source}");
        let args: Vec<_> = read_header(body, "ARGV")
            .into_iter()
            .filter(|name| *name != "...")
            .collect();
        assert_eq!(args, read_locals(source, "ARGV"), "{source}");
        assert!(body.contains("-- Output: {'"), "{source}");
        let includes = read_header(body, "include");
        for include in &includes {
            assert!(INCLUDES.iter().any(|(name, _)| name == include), "{include}");
        }
        for (name, code) in INCLUDES {
            let functions = code
                .lines()
                .filter_map(|line| line.strip_prefix("local function "));
            for function in functions.filter_map(|rest| rest.split('(').next()) {
                let is_called = body.contains(&format!("{function}("));
                assert!(
                    !is_called || includes.contains(name),
                    "{function} is of {name}: {source}"
                );
            }
        }
    }
}
