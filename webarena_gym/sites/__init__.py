"""The sites that ship with the package, each bound to one episode's own database."""
