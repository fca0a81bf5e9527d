"""What writers of C and of the languages in its manner share: expressions, statements, words."""
