//! The processed form of templates, by `infra/process_template.py` in the environment of the SAM CLI.

use std::{fs, process::Command};

use serde_json::Value;

/// Processes pairs of a template and the API document that it includes.
pub(crate) fn process(sources: &[(Value, Value)]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut paths = Vec::new();
    for (number, (template, document)) in sources.iter().enumerate() {
        let folder = folder.path().join(number.to_string());
        fs::create_dir_all(folder.join("infra")).expect("a folder");
        fs::write(folder.join("infra/openapi.yaml"), document.to_string()).expect("written");
        let path = folder.join("template.json");
        fs::write(&path, template.to_string()).expect("written");
        paths.push(path);
    }
    let output = Command::new("bash")
        .args([
            "-c",
            r#"source infra/tools.sh && "$(need_sam)/python" infra/process_template.py "$@""#,
            "bash",
        ])
        .args(&paths)
        .current_dir(root)
        .output()
        .expect("bash can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the template was not processed: {errors}"
    );
    let lines = String::from_utf8(output.stdout).expect("text");
    let processed: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(processed.len(), sources.len(), "{errors}");
    processed
}
