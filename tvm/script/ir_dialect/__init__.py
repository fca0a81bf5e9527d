"""The dialect `I` of TVMScript: modules, their attributes and global infos, types, ranges."""
