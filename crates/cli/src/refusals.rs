//! Refusals of the crates below, in the language of this process.

use hostmark_engine::ResumeError;
use hostmark_engine::plan::PlanError;
use hostmark_model::{CaseIdError, LoadError};

use crate::language::{both, current};

/// Why something was not started, or was lost: an error of `hostmark_launch`, which is a reason of a case as well.
pub fn of_launch(error: &impl std::fmt::Display) -> String {
    hostmark_analysis::reasons::localized(&error.to_string(), current()).into_owned()
}

/// Why nothing can be planned.
pub fn of_plan(refused: &PlanError) -> String {
    let en = refused;
    match refused {
        PlanError::UnknownProbe { name, suggestion: Some(nearest) } => {
            both!("{en}", "没有名为“{name}”的探针；是否要写 {nearest}？（hostmark list 列出全部）")
        }
        PlanError::UnknownProbe { name, suggestion: None } => {
            both!("{en}", "没有名为“{name}”的探针；hostmark list 列出全部")
        }
        PlanError::UnknownAxis { probe, axis, known } if known.is_empty() => {
            both!("{en}", "{probe} 没有轴“{axis}”；它没有轴，请去掉 @ 之后的部分")
        }
        PlanError::UnknownAxis { probe, axis, known } => {
            let known = known.join("、");
            both!("{en}", "{probe} 没有轴“{axis}”；可用 {known}")
        }
        PlanError::UnknownValue { probe, axis, value, known } => {
            both!("{en}", "“{value}”不是 {probe} 的轴 {axis} 的取值；可用 {known}")
        }
        PlanError::TwoValues { probe, axis, one, other } => {
            both!("{en}", "{probe} 的轴 {axis} 有两个取值 {one} 和 {other}；请只给一个，或写成两个过滤表达式")
        }
        PlanError::Malformed(CaseIdError::Probe(typed)) => both!(
            "{en}",
            "“{typed}”不符合 group.probe 的形式；过滤表达式写作 group、group.probe 或 group.probe@axis=value"
        ),
        PlanError::Malformed(CaseIdError::Axis(typed)) => both!(
            "{en}",
            "“{typed}”不符合 axis=value 的形式（取值由 a-z 0-9 _ . + - 组成）；过滤表达式写作 group.probe@axis=value"
        ),
        PlanError::CommandBeside { probe } => {
            both!("{en}", "--command 只测量一条命令；请去掉选中 {probe} 的过滤表达式")
        }
        PlanError::NoCommand { probe } => {
            both!("{en}", "{probe} 测量一条命令，而没有给出命令；请写成 --command 'make -j4'")
        }
        PlanError::OtherValue { probe } => {
            both!("{en}", "{probe} 测量的不是对该命令的要求；请去掉过滤表达式：探针由 --bytes、--value 和 --unit 决定")
        }
        PlanError::TooMany { probe, most } => {
            both!("{en}", "{probe} 使计划超过 {most} 个用例；请在 --set 中减少取值")
        }
        PlanError::NoCpu => both!("{en}", "本进程不能在任何在线 CPU 上运行；请放宽其 CPU 亲和性"),
        PlanError::MalformedSet(typed) => both!(
            "{en}",
            "“{typed}”不符合 [PROBE:]AXIS=V1,V2 的形式；请写成 --set size=4K,1M 或 --set memory.read:size=4K"
        ),
        PlanError::SetTwice { one, other } => {
            both!("{en}", "--set {one} 与 --set {other} 设置同一个轴；请把取值写在一处")
        }
        PlanError::SetUnselected { set } => {
            both!("{en}", "--set {set} 不作用于任何已选探针；请选择含该轴的探针，或去掉它")
        }
        PlanError::SetUnknownAxis { axis, known } => both!("{en}", "已选探针都没有轴“{axis}”；可用 {known}"),
        PlanError::NoCpuList(typed) => both!("{en}", "“{typed}”不是 CPU 列表；请写成 0-3,8"),
        PlanError::UnusableCpu { cpu, usable } => both!("{en}", "无法绑定到 CPU {cpu}：它不在线；可用 {usable}"),
        PlanError::ForbiddenCpu { cpu, usable, list } => both!(
            "{en}",
            "无法绑定到 CPU {cpu}：本进程不允许使用它；可用 {usable}，或用 taskset -c {list} 启动 hostmark"
        ),
    }
}

/// Why a text is no run: it goes on behind a file's name. What is wrong with the text itself stays as the parser says it.
pub fn of_run(refused: &LoadError) -> String {
    let en = refused;
    match refused {
        LoadError::Newer { found } => {
            both!("{en}", "由更新版本的 hostmark 写成（模式 {found}，本版本最高可读 /1）；请更新 hostmark")
        }
        LoadError::Lacking(what) => {
            both!("{en}", "缺少本版本需要的内容（{what}）：由其他版本的 hostmark 写成，或被改动过；请重新测量")
        }
        LoadError::NotARun(why) => both!("{en}", "不是 hostmark 运行文件（{why}）；请给出 hostmark run 写的文件"),
        LoadError::Truncated { line } => both!("{en}", "不完整（在第 {line} 行中断）；请恢复该文件，或重新测量"),
    }
}

/// Why a journal is not gone on with: it goes on behind the journal's name.
pub fn of_journal(refused: &ResumeError) -> String {
    let en = refused;
    match refused {
        ResumeError::Io(error) => both!("{en}", "无法读写（{error}）；请换一个日志"),
        ResumeError::OfOthers => both!("{en}", "属于其他用户，或其他人可写；请重新测量"),
        ResumeError::UnderWay => both!("{en}", "是正在进行的运行的日志；请等它结束"),
        ResumeError::NoHeader(why) => both!("{en}", "不是本版本可以继续的日志（{why}）；请重新测量"),
    }
}
