use clap::{Args, ValueEnum};

use super::Connection;

/// `evenkeel graph`.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Context of the kubeconfig; the current one unless given.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// One object, such as deployment/web: what it owns and who owns it, over any number of steps.
    /// Without it, all of the namespace.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) object: Option<String>,
    /// Namespace of the object, or to show.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    /// Everything, whatever its namespace.
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "object"])]
    pub(crate) all_namespaces: bool,
    /// How it is written.
    #[arg(short, long, value_enum, default_value = "tree")]
    pub(crate) output: GraphFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Owners above what they own.
    Tree,
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
    /// For programs.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, tests::parse};

    #[test]
    fn an_object_or_a_namespace_or_everything() {
        let graph =
            |flags: &[&str]| match parse(&[&["graph"], flags].concat()).map(|cli| cli.command) {
                Ok(Command::Graph(args)) => Some(args),
                _ => None,
            };
        let one = graph(&["deployment/web", "-n", "shop", "-o", "svg"]).unwrap();
        assert_eq!(one.object.as_deref(), Some("deployment/web"));
        assert_eq!((&*one.namespace, one.output), ("shop", GraphFormat::Svg));
        assert!(graph(&["-A"]).unwrap().all_namespaces);
        assert!(graph(&["-A", "pod/x"]).is_none());
        assert!(graph(&["-A", "-n", "x"]).is_none());
    }
}
