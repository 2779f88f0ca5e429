//! Runs for tests, of which every number is chosen.

use hostmark_model::{CaseRecord, Estimate, HostFacts, Noise, Run};

pub(crate) fn estimate(value: f64, half: f64) -> Estimate {
    serde_json::from_value(serde_json::json!({
        "typical": value, "ci_low": value * (1.0 - half), "ci_high": value * (1.0 + half), "confidence": 0.95,
        "method": "order_statistics", "min": value, "max": value, "mean": value, "stddev": 0.0, "mad": 0.0,
        "best_round": value, "n": 50, "rounds": 5
    }))
    .unwrap()
}

pub(crate) fn case(id: &str, value: f64, half: f64) -> CaseRecord {
    serde_json::from_value(serde_json::json!({
        "id": id, "probe": id, "params": {},
        "outcome": { "measured": {
            "estimate": estimate(value, half), "also": {}, "samples": [], "rounds": [], "noise": Noise::default(), "notes": {},
            "flags": []
        } }
    }))
    .unwrap()
}

pub(crate) fn run(id: &str, cases: Vec<CaseRecord>) -> Run {
    let probes: Vec<serde_json::Value> = Vec::new();
    let run: Run = serde_json::from_value(serde_json::json!({
        "schema": "hostmark.run/1", "id": id, "name": id, "started": "2026-11-24T09:00:00Z", "finished": null,
        "tool": { "version": "0.1.0", "target": "", "libc": "", "static": false },
        "settings": { "profile": "quick", "seed": 1, "filters": [], "rounds": 5, "limit_s": 60.0,
                      "clock": { "source": "tsc", "hz": 1e9, "reason": null, "drift": null }, "cpu": 0, "set": {} },
        "host": HostFacts::default(), "probes": probes, "cases": [], "disturbances": [], "findings": []
    }))
    .unwrap();
    Run { cases, ..run }
}
