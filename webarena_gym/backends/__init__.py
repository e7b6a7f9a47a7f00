"""The places where tasks are done: the embedded sites, real servers, the pages of MiniWoB++."""
