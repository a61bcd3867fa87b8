"""The subcommands, one file each: `main(argv) -> exit code`."""
