"""What is asked (`calls`, `bodies`) and what is answered (`answers`)."""
