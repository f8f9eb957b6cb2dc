"""Long jobs: files in, a file out; what is finished survives a kill."""
